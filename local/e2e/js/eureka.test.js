// Drives the registry at EUREKA_URL with eureka-js-client: one provider, and two consumers of which one reads full
// lists (the client's default) and the other deltas.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Eureka } from 'eureka-js-client';
import { plain } from './plain.js';

const APP = 'JS-CLIENT';
const ID = 'js-1';
const url = process.env.EUREKA_URL;
assert.ok(url, 'EUREKA_URL is the base URL of a registry');

/** How long a change may take to be seen, in milliseconds: lists are eventually consistent. */
const PATIENCE = 10_000;

/** The paths that the delta consumer asked for, to know that it lives on deltas. */
const asked = [];

const provider = client({ eureka: { fetchRegistry: false } });
const fullConsumer = client({ eureka: { registerWithEureka: false } });
const deltaConsumer = client({
  eureka: { registerWithEureka: false },
  shouldUseDelta: true,
  requestMiddleware: (request, done) => {
    asked.push(request.uri);
    done(request);
  },
});

/** A client of the registry with short intervals; instance and service URLs are written as its README shows. */
function client({ eureka, ...config }) {
  return new Eureka({
    ...config,
    logger: { debug() {}, info() {}, warn() {}, error: console.error },
    eureka: {
      serviceUrls: { default: [`${url}/apps/`] },
      heartbeatInterval: 500,
      registryFetchInterval: 500,
      ...eureka,
    },
    instance: {
      instanceId: ID,
      app: APP,
      hostName: 'js-1.example.org',
      ipAddr: '192.0.2.30',
      port: { $: 8080, '@enabled': true },
      vipAddress: APP,
      metadata: { zone: 'a' },
      dataCenterInfo: { '@class': 'com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo', name: 'MyOwn' },
    },
  });
}

/** What a consumer would call: with deltas the client keeps instances that are not UP any more. */
function usable(consumer) {
  return consumer.getInstancesByVipAddress(APP).filter(({ status }) => status === 'UP');
}

/** Waits until a value, asked for again and again, is the expected one. */
async function sees(what, ask, expected) {
  const late = Date.now() + PATIENCE;
  let value = await ask();
  while (value !== expected && Date.now() < late) {
    await sleep(100);
    value = await ask();
  }
  assert.equal(value, expected, what);
}

/** Both consumers come to see this many usable instances. */
async function bothSee(count) {
  await sees('full lists', () => usable(fullConsumer).length, count);
  await sees('deltas', () => usable(deltaConsumer).length, count);
}

/** What an administrator sends without any client. */
async function request(method, suffix = '') {
  const answer = await plain(method, `${url}/apps/${APP}/${ID}${suffix}`);
  assert.equal(answer.status, 200, `${method} ${suffix}`);
  return answer;
}

async function stored() {
  const { instance } = await (await request('GET')).json();
  return instance;
}

const clients = [provider, fullConsumer, deltaConsumer];

before(async () => {
  for (const each of clients) {
    await promisify(each.start).call(each);
  }
});

after(() => clients.forEach((each) => each.stop()));

test('a registration is found in full lists and in deltas', async () => {
  await bothSee(1);
  const [instance] = usable(deltaConsumer);
  assert.equal(instance.instanceId, ID);
  assert.equal(instance.port.$, 8080);
  assert.equal(instance.metadata.zone, 'a');
});

test('heartbeats renew the lease', async () => {
  const { lastRenewalTimestamp } = (await stored()).leaseInfo;
  await sees('a later renewal', async () => (await stored()).leaseInfo.lastRenewalTimestamp > lastRenewalTimestamp, true);
});

test('new metadata and a new status are seen', async () => {
  provider.config.instance.metadata.version = '2 of ü';
  await promisify(provider.register).call(provider);
  await sees('metadata', () => usable(fullConsumer)[0]?.metadata.version, '2 of ü');

  await request('PUT', '/status?value=DOWN');
  await bothSee(0);
  await request('PUT', '/status?value=UP');
  await bothSee(1);
});

test('an override takes the instance out of service and its removal brings it back', async () => {
  await request('PUT', '/status?value=OUT_OF_SERVICE');
  await bothSee(0);
  await once(provider, 'heartbeat');
  await promisify(provider.register).call(provider);
  assert.equal((await stored()).status, 'OUT_OF_SERVICE');

  await request('DELETE', '/status?value=UP');
  await bothSee(1);
});

test('a heartbeat answered 404 makes the client register again', async () => {
  const registered = once(provider, 'registered');
  await request('DELETE');
  await registered;
  await bothSee(1);
});

test('a client that stops is gone', async () => {
  await promisify(provider.stop).call(provider);
  await bothSee(0);
});

test('all this came to the second consumer by deltas', () => {
  const [first, ...rest] = asked;
  assert.equal(first, '');
  assert.ok(rest.length > 5 && rest.every((path) => path === 'delta'), `asked for ${asked}`);
});
