// The dashboard in a real browser: Debian's chromium, driven by playwright-core, judged by axe-core.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const base = process.env.EUREKA_URL ?? "http://127.0.0.1:8761/eureka";
const home = base.replace(/\/eureka$/, "/");
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
// A folder for pictures of the pages; none are taken without.
const pictures = process.env.SCREENSHOTS;

let browser, context, page, faults;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Nothing that the browser would ask the network for on its own.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
  context = await browser.newContext();
});

after(() => browser?.close());

beforeEach(async () => {
  page = await context.newPage();
  await page.setViewportSize({ width: 1000, height: 700 });
  faults = [];
  page.on("pageerror", (error) => faults.push(`script: ${error}`));
  // Browsers ask for an icon on their own where a document, such as a refusal, names none.
  const icon = (message) => message.location().url.endsWith("/favicon.ico");
  page.on("console", (message) => message.type() === "error" && !icon(message) && faults.push(`console: ${message.text()}`));
  page.on("request", (request) => request.url().startsWith(home) || faults.push(`request to ${request.url()}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
});

afterEach(async () => {
  await page.close();
  assert.deepEqual(faults, [], "nothing is refused, fails, or leaves the registry");
});

const instance = (app, id, more = {}) => ({
  instanceId: id, app, hostName: `${id}.example.org`, ipAddr: "192.0.2.1", status: "UP", overriddenStatus: "UNKNOWN",
  port: { $: 8080, "@enabled": "true" }, securePort: { $: 8443, "@enabled": "false" }, vipAddress: app.toLowerCase(),
  dataCenterInfo: { "@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", name: "MyOwn" },
  leaseInfo: { renewalIntervalInSecs: 30, durationInSecs: 3600 }, metadata: { zone: "a" },
  homePageUrl: "http://192.0.2.1:8080/", lastDirtyTimestamp: String(Date.now()), ...more,
});

/** Passes items on as a peer does, which takes many at once. */
async function replicate(action, instances) {
  for (let at = 0; at < instances.length; at += 250) {
    const replicationList = instances.slice(at, at + 250).map((i) => ({
      appName: i.app, id: i.instanceId, action, lastDirtyTimestamp: Number(i.lastDirtyTimestamp), instanceInfo: i,
    }));
    const answer = await fetch(`${base}/peerreplication/batch`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ replicationList }),
    });
    assert.equal(answer.status, 200);
    for (const item of (await answer.json()).responseList) assert.equal(item.statusCode, 200);
  }
}

/** Reloads until the list's own words are these: lists turn over by the second. */
async function awaitFound(words, path = "") {
  for (let tries = 0; ; tries++) {
    await page.goto(home + path, { waitUntil: "domcontentloaded" });
    const found = await page.locator("#found").textContent();
    if (words.test(found)) return;
    assert.ok(tries < 100, `still: ${found}`);
    await page.waitForTimeout(200);
  }
}

/** Fails on what the checker finds to be serious. The policy lets no script in, so it comes in by the debugger. */
async function accessible(where) {
  const session = await context.newCDPSession(page);
  const source = await readFile(axe, "utf8");
  await session.send("Runtime.evaluate", { expression: source });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: "axe.run().then((r) => JSON.stringify(r.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 200)).slice(0, 3)])))",
    awaitPromise: true, returnByValue: true,
  });
  assert.equal(exceptionDetails, undefined, where);
  const serious = JSON.parse(result.value).filter(([impact]) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious, [], where);
}

async function picture(name) {
  if (pictures) await page.screenshot({ path: join(pictures, name + ".png") });
}

/** Waits for a line of the list that the script replaces. */
const found = (words) => page.waitForFunction((w) => new RegExp(w).test(document.getElementById("found").textContent), words);

const fleet = [
  ...[1, 2, 3].map((n) => instance("ORDERS", `orders-${n}`, { metadata: { zone: "eu-west-1" + "abc"[n - 1] }, statusPageUrl: "http://192.0.2.1/info", healthCheckUrl: "http://192.0.2.1/health" })),
  ...[1, 2].map((n) => instance("PAYMENTS", `payments-${n}`, { status: n === 1 ? "UP" : "DOWN", ipAddr: "192.0.2.2", metadata: { zone: "eu-west-1b" } })),
  instance("SEARCH", "search-1", { status: "STARTING", ipAddr: "192.0.2.3" }),
];

test("instances by application, filtered as one types, sorted, also without script", async () => {
  await replicate("Register", fleet);
  await awaitFound(/^\s*6 instances\./);
  assert.equal(await page.locator("tr.group").count(), 3);
  assert.equal(await page.getByRole("link", { name: "health of orders-1" }).getAttribute("href"), "http://192.0.2.1/health");
  await picture("dashboard-light");

  await page.getByLabel("Filter").pressSequentially("payments-2", { delay: 5 });
  await found("1 instance, filtered from 6");
  assert.equal(await page.locator("tbody a[href*=payments-2]").count(), 1);
  assert.match(page.url(), /q=payments-2/);
  assert.ok(await page.getByLabel("Filter").evaluate((input) => input === document.activeElement), "the focus stays");
  await page.getByLabel("Filter").fill("");
  await found("^\\s*6 instances\\.");
  await page.getByLabel("Status", { exact: true }).selectOption("DOWN");
  await found("1 instance");
  await page.reload();
  assert.equal(await page.getByLabel("Status", { exact: true }).inputValue(), "DOWN", "the address holds what was chosen");

  await page.goto(home);
  await page.getByRole("columnheader", { name: "Zone" }).getByRole("link").click();
  assert.equal(await page.getByRole("columnheader", { name: "Zone" }).getAttribute("aria-sort"), "ascending");
  await page.getByRole("columnheader", { name: "Zone" }).getByRole("link").click();
  assert.equal(await page.getByRole("columnheader", { name: "Zone" }).getAttribute("aria-sort"), "descending");
  assert.match(await page.locator("tbody tr").first().textContent(), /orders-3/);

  const plain = await browser.newContext({ javaScriptEnabled: false });
  const without = await plain.newPage();
  await without.goto(home);
  await without.getByLabel("Filter").fill("search");
  await without.getByRole("button", { name: "Show" }).click();
  await without.waitForURL(/q=search/);
  assert.match(await without.locator("#found").textContent(), /1 instance, filtered from 6/);
  await plain.close();
});

test("a status is changed with a confirmation, by keyboard alone", async () => {
  await awaitFound(/^\s*6 instances\./);
  await page.getByRole("link", { name: "payments-1" }).first().click();
  assert.match(await page.locator("main").textContent(), /renewed\s*(just now|\d+ s ago)/);
  await accessible("instance");
  const press = async (name) => {
    for (let tries = 0; tries < 40; tries++) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement.textContent.trim())) === name) {
        await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
        return;
      }
    }
    assert.fail(`${name} cannot be reached by Tab`);
  };
  await press("Take out of service");
  await accessible("confirmation");
  await press("Leave it as it is");
  assert.match(await page.locator("main").textContent(), /PAYMENTS: UP/);
  await press("Take out of service");
  await press("Take out of service");
  assert.match(await page.getByRole("status").textContent(), /out of service/);
  assert.match(await page.locator("main").textContent(), /PAYMENTS: OUT_OF_SERVICE, set by an override/);
  const seen = await (await fetch(`${base}/apps/PAYMENTS/payments-1`, { headers: { Accept: "application/json" } })).json();
  assert.equal(seen.instance.status, "OUT_OF_SERVICE");
  await press("Bring back");
  await press("Bring back");
  assert.match(await page.locator("main").textContent(), /PAYMENTS: UP/);
  await press("Cancel registration");
  await press("Cancel registration");
  assert.match(await page.locator("main").textContent(), /cancelled/);
  assert.equal((await fetch(`${base}/apps/PAYMENTS/payments-1`)).status, 404);
  await awaitFound(/^\s*5 instances\./);
  for (let tries = 0; !/PAYMENTS payments-1/.test(await page.goto(home + "lastn").then(() => page.locator("section").nth(1).textContent())); tries++) {
    assert.ok(tries < 50, "the cancellation is listed after the next pass");
    await page.waitForTimeout(200);
  }
  await accessible("recent");
});

test("a page of another origin changes nothing", async () => {
  const forged = await fetch(`${home}action`, {
    method: "POST", body: "do=cancel&app=ORDERS&id=orders-1",
    headers: { "Content-Type": "application/x-www-form-urlencoded", Origin: "http://evil.example.org" },
  });
  assert.equal(forged.status, 403);
  // From a real page of no origin of its own, such as a file that was mailed.
  await page.setContent(`<form method="post" action="${home}action"><input name="do" value="cancel"><input name="app" value="ORDERS"><input name="id" value="orders-1"><button>Win</button></form>`);
  const [answer] = await Promise.all([page.waitForResponse(`${home}action`), page.getByRole("button").click()]);
  assert.equal(answer.status(), 403);
  await page.waitForLoadState();
  faults = faults.filter((fault) => !/ 403 /.test(fault));
  assert.equal((await fetch(`${base}/apps/ORDERS/orders-1`)).status, 200);
});

test("hostile fields are text", async () => {
  const markup = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;
  const long = "long".repeat(5000);
  const hostile = [
    instance("EVIL", `x${markup}`, { homePageUrl: "javascript:alert(3)", statusPageUrl: "data:text/html,<script>alert(4)</script>", healthCheckUrl: `http://192.0.2.1/"onclick="alert(5)`, vipAddress: markup, metadata: { [markup]: markup, zone: long } }),
  ];
  await replicate("Register", hostile);
  await awaitFound(/^\s*1 instance, filtered/, "?q=evil");
  assert.equal(await page.locator("main script, main img, a[href^='javascript:'], a[href^='data:']").count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
  await page.locator("tbody a").first().click();
  assert.equal(await page.locator("main h1").textContent(), hostile[0].instanceId);
  assert.equal(await page.locator("main script, main img, a[href^='javascript:']").count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
  assert.ok((await page.locator("main").textContent()).includes(long), "the instance's page has the whole value");
  await accessible("hostile instance");
  await replicate("Cancel", hostile);
});

test("a banner says what self-preservation means", async () => {
  const silent = Array.from({ length: 20 }, (_, n) => instance("SILENT", `silent-${n}`, { leaseInfo: { renewalIntervalInSecs: 1, durationInSecs: 3600 } }));
  await replicate("Register", silent);
  const banner = page.getByText("Self-preservation is on.");
  for (let tries = 0; !(await page.goto(home).then(() => banner.count())); tries++) {
    assert.ok(tries < 100, "no banner");
    await page.waitForTimeout(250);
  }
  assert.match(await page.getByRole("region", { name: "Self-preservation" }).textContent(), /Only \d+ of \d+ leases/);
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    await accessible(`overview, ${scheme}`);
  }
  await picture("dashboard-dark");
  await page.goto(home + "status");
  await accessible("status");
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(home);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a phone shows it without scrolling aside");
  await accessible("phone");
  await picture("dashboard-phone");
  await replicate("Cancel", silent);
});

test("10,000 instances", async () => {
  const many = Array.from({ length: 10_000 }, (_, n) => instance(`APP-${String(n % 50).padStart(2, "0")}`, `i-${String(n).padStart(5, "0")}`));
  await replicate("Register", many);
  await awaitFound(/1 to 100 of 10,00\d instances/);
  assert.ok(await page.locator("tbody tr").count() < 300);
  const began = Date.now();
  await page.getByLabel("Filter").fill("i-09999");
  await found("1 instance");
  assert.ok(Date.now() - began < 5000, "a filter takes no more than seconds on a busy machine");
  await page.goto(home + "?q=app-07");
  await page.getByRole("link", { name: "Next" }).click();
  assert.match(await page.locator("#found").textContent(), /101 to 200 of 200 instances/);
});
