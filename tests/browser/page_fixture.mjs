// What the tests of the page start with. Each test file is run as: node FILE CHROMIUM WRITE_SAMPLE FOLDER
// Samples and screenshots are left in FOLDER.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

import { Browser } from "./devtools.mjs";

export const [chromium, writeSample, folder] = process.argv.slice(2);
export const CONTROL = 2, SHIFT = 8; // modifiers of a DevTools key event
const WATCH = `window.violations = [];
	document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));`;
export const STATE = "flamegrid.state()";

let browser;
const samples = {};

export function sample(kind) {
	const path = join(folder, `${kind}.html`);

	samples[kind] ??= { path, url: pathToFileURL(path).href,
		expected: JSON.parse(execFileSync(writeSample, [kind, path], { encoding: "utf8" })) };
	return samples[kind];
}

export const state = (page) => page.value(STATE);
export const settled = (page) => page.until("window.flamegrid?.settled() || !document.getElementById('failure').hidden");
export const sums = ({ time, count, bytes }) => ({ time, count, bytes });
export const rgb = (page, selector) => page.value(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);

export async function open(kind, options = {}) {
	const page = await browser.open(sample(kind).url + (options.hash ?? ""), { watch: WATCH, ...options });

	await settled(page);
	return page;
}

// No test may leave an error, a warning, a violation of the policy or a request but that for the page itself.
export async function finish(page) {
	assert.deepEqual(page.complaints, []);
	assert.deepEqual(await page.value("window.violations"), []);
	assert.deepEqual(page.requests.filter((url) => !url.startsWith("file:") && url !== "about:blank"), []);
	assert.equal(new Set(page.requests.filter((url) => url.startsWith("file:")).map((url) => url.split("#")[0])).size, 1);
	await page.close();
}

export async function shoot(page, name) {
	await settled(page);
	writeFileSync(join(folder, `${name}.png`), await page.screenshot());
}

export async function clickElement(page, selector) {
	const { x, y } = await page.value(`(() => {
		const element = document.querySelector(${JSON.stringify(selector)});
		element.scrollIntoView({ block: "nearest" });
		const box = element.getBoundingClientRect();
		return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
	})()`);

	await page.click(x, y);
	await settled(page);
}

export const choose = (page, name, value) => clickElement(page, `input[name="${name}"][value="${value}"]`);

// Where a frame of this path (or, alone, this name) is in the window.
export async function placeOf(page, ...path) {
	const frame = await page.value(`(() => {
		const frame = flamegrid.find(...${JSON.stringify(path)});
		const box = document.getElementById("graph").getBoundingClientRect();
		return frame && { ...frame, left: box.x, top: box.y };
	})()`);

	assert.ok(frame?.rect, `${path.join(";")} is visible`);
	return { x: frame.left + frame.rect.x + Math.min(frame.rect.w / 2, 40), y: frame.top + frame.rect.y + frame.rect.h / 2 };
}

export async function clickFrame(page, ...path) {
	const { x, y } = await placeOf(page, ...path);

	await page.click(x, y);
	await settled(page);
}

before(() => {
	mkdirSync(folder, { recursive: true });
	browser = new Browser(chromium);
});

after(() => browser.close());

export async function zoomFrame(page, ...path) {
	await clickFrame(page, ...path);
	await page.key("Enter");
	await settled(page);
}

export async function press(page, key, options) {
	await page.key(key, options);
	await settled(page);
	return state(page);
}

// Chooses a value of a filter; "": any.
export async function select(page, name, value) {
	await page.value(`(() => {
		const select = document.querySelector('#only select[name="${name}"]');
		select.value = "${value}";
		select.dispatchEvent(new Event("change"));
	})()`);
	await settled(page);
}

// The text of an element, without its markup.
export const text = (page, id) => page.value(`document.getElementById(${JSON.stringify(id)}).textContent`);
