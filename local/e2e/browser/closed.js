// A registry that asks for credentials, in a real browser that has been given them: those of an operator, in EUREKA_URL.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";

const given = new URL(process.env.EUREKA_URL);
const credentials = { username: given.username, password: given.password };
const home = `${given.origin}/`;
const authorization = `Basic ${Buffer.from(`${given.username}:${given.password}`).toString("base64")}`;

/** What an operator sends without a browser. */
const plain = (path, more = {}) => fetch(home + path, { ...more, headers: { Authorization: authorization, Accept: "application/json", ...more.headers } });
const there = async () => (await plain("eureka/apps/CLOSED/closed-1")).status;

let browser, context, page, other;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
  other = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(other.html));
  await once(other.listen(0, "127.0.0.1"), "listening");
  const registration = { instance: {
    instanceId: "closed-1", app: "CLOSED", hostName: "closed-1.example.org", ipAddr: "192.0.2.1", status: "UP",
    dataCenterInfo: { "@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", name: "MyOwn" },
  } };
  const answer = await plain("eureka/apps/CLOSED", { method: "POST", body: JSON.stringify(registration), headers: { "Content-Type": "application/json" } });
  assert.equal(answer.status, 204);
  for (let tries = 0; !(await (await plain("eureka/apps")).text()).includes("closed-1"); tries++) {
    assert.ok(tries < 100, "the list has it with its next turn");
    await sleep(100);
  }
});

after(async () => {
  await browser?.close();
  other?.close();
});

beforeEach(async () => {
  await context?.close();
  context = await browser.newContext({ httpCredentials: credentials });
  page = await context.newPage();
  // The browser has the credentials from here on, and would send them by itself.
  assert.equal((await page.goto(home)).status(), 200);
  assert.match(await page.content(), /CLOSED/);
});

/** Goes to a page of another site: localhost is none of 127.0.0.1's. */
async function elsewhere(html) {
  other.html = html;
  await page.goto(`http://localhost:${other.address().port}/`);
}

test("who has no credentials sees nothing", async () => {
  const stranger = await browser.newContext();
  await assert.rejects((await stranger.newPage()).goto(home), /ERR_INVALID_AUTH_CREDENTIALS/);
  await stranger.close();
});

test("the operator's own page acts", async () => {
  await page.goto(`${home}?app=CLOSED&id=closed-1&do=out`);
  await page.locator("form button").click();
  await page.waitForLoadState();
  assert.equal((await (await plain("eureka/apps/CLOSED/closed-1")).json()).instance.status, "OUT_OF_SERVICE");
  await plain("eureka/apps/CLOSED/closed-1/status?value=UP", { method: "DELETE" });
});

test("a form of another origin is refused, though the browser knows the password", async () => {
  await elsewhere(`<form method="post" action="${home}action"><input name="do" value="cancel"><input name="app" value="CLOSED"><input name="id" value="closed-1"><button>Win</button></form>`);
  const [answer] = await Promise.all([page.waitForResponse(`${home}action`), page.getByRole("button").click()]);
  assert.equal(answer.status(), 403);
  assert.equal(await there(), 200);
});

test("a script of another origin can neither change nor read", async () => {
  await elsewhere("<p>prizes</p>");
  const results = await page.evaluate(async (url) => {
    const attempts = [
      [url + "eureka/apps/CLOSED/closed-1", { method: "DELETE" }],
      [url + "eureka/apps/CLOSED/closed-1/status?value=DOWN", { method: "PUT" }],
      [url + "eureka/apps/CLOSED", { method: "POST", body: "{}", headers: { "Content-Type": "text/plain" } }],
      [url + "eureka/apps", {}],
    ];
    const out = [];
    for (const [target, options] of attempts) {
      out.push(await fetch(target, { ...options, credentials: "include" }).then((a) => a.text(), () => "refused"));
    }
    return out;
  }, home);
  assert.deepEqual(results, ["refused", "refused", "refused", "refused"]);
  const { instance } = await (await plain("eureka/apps/CLOSED/closed-1")).json();
  assert.equal(instance.status, "UP");
});

test("no page of another origin frames the registry", async () => {
  for (const path of ["", "status", "lastn", "eureka/apps", "health"]) {
    await elsewhere(`<iframe src="${home}${path}"></iframe>`);
    await page.waitForLoadState("networkidle");
    const frame = page.frames().find((each) => each !== page.mainFrame());
    assert.match(frame.url(), /^chrome-error:/, path);
  }
});
