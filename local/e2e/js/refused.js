// Drives the registry at EUREKA_URL, whose password is wrong, with eureka-js-client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Eureka } from 'eureka-js-client';

/** Starts a client and returns what it says while it tries, until it gives up. */
function attempt() {
  const said = [];
  const say = (...words) => said.push(words.join(' '));
  const client = new Eureka({
    logger: { debug() {}, info() {}, warn: say, error: say },
    eureka: { serviceUrls: { default: [`${process.env.EUREKA_URL}/apps/`] }, maxRetries: 1, requestRetryDelay: 10 },
    instance: {
      instanceId: 'js-refused', app: 'JS-REFUSED', hostName: 'js-1.example.org', ipAddr: '192.0.2.30', vipAddress: 'JS-REFUSED',
      port: { $: 8080, '@enabled': true },
      dataCenterInfo: { '@class': 'com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo', name: 'MyOwn' },
    },
  });
  return new Promise((resolve) => {
    client.start((error) => {
      client.stop(() => resolve({ error, said: said.join('\n') }));
    });
  });
}

test('a client with a wrong password is refused, and says so', async () => {
  const { error, said } = await attempt();
  assert.match(`${error} ${said}`, /\b401\b/);
});
