// Drives the page's time axis in Chromium, over 10 million events of 8 GPUs from `flamegrid serve`:
//	node axis_bench.mjs CHROMIUM BUILD [RUNS [PROFILE [PICTURE.png]]]
// Without PROFILE it makes one: 8 ranks on simulated GPUs, 312,500 steps with two launches each; two minutes on two cores.
// Prints the median and the worst of RUNS (10) of each action: from the input to the end of the frame that shows it. Of
// motions it prints frames: the time from one to the next, and what the page's thread worked for one. Strips scroll in
// the sample of 512 GPUs, because six strips are shown at a time.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { Browser } from "../browser/devtools.mjs";

const [chromium, build, runs = "10", given, picture] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "flamegrid-axis-bench-"));
const flamegrid = resolve(build, "bin/flamegrid");
const FRAMES = 120;
const LOOKS_MS = [0, 1000]; // at the list of profiles, before the click
const SPANS_NS = [1e6, 1e8, 1e9, 1e10]; // of ranges whose pages are made

function makeProfile() {
	const devices = join(scratch, "devices"), profile = join(scratch, "profile");
	const environment = { ...process.env, FAKE_CUDA_DEVICES: "8" };

	writeFileSync(devices, execFileSync(resolve(build, "bin/fake-cuda-devices"), { env: environment }));
	execFileSync(flamegrid, ["run", "-q", "--timeline", "all", "--max-size", "4096", "-o", profile, "--devices", devices, "--",
		resolve(build, "tests/fake_ranks"), "--ranks", "8", "--steps", "312500", "--mark"],
	{ env: environment, stdio: ["ignore", "ignore", "inherit"] });
	return profile;
}

// A server whose pages are still to be made: { url, stop }.
async function serve(profile) {
	const folder = join(scratch, "pages");

	mkdirSync(folder, { recursive: true });
	const server = spawn(flamegrid, ["serve", "--listen", "127.0.0.1:0", profile], { env: { ...process.env, TMPDIR: folder },
		stdio: ["ignore", "pipe", "ignore"] });
	const url = await new Promise((done, fail) => {
		server.stdout.once("data", (text) => done(String(text).trim()));
		server.once("exit", (status) => fail(new Error(`serve ended with ${status}`)));
	});
	return { url, stop: () => new Promise((done) => {
		server.once("exit", done);
		server.kill("SIGTERM");
	}) };
}

const sorted = (numbers) => numbers.slice().sort((a, b) => a - b);
const median = (numbers) => sorted(numbers)[numbers.length >> 1];
const print = (what, ms) => console.log(`${what}: ${median(ms).toFixed(1)} ms, at most ${Math.max(...ms).toFixed(1)} ms, of ${ms.length}`);

// The page that waits goes on to the real one, which ends what was asked of it. condition: of the address and the like.
async function drawn(page, condition = "true") {
	for (const end = Date.now() + 120000; Date.now() < end;)
		if (await page.until(`window.flamegrid?.drawn() && (${condition})`).then(() => true, () => false))
			return;
	throw new Error("no page came");
}

async function timed(act) {
	const begin = performance.now();

	await act();
	return performance.now() - begin;
}

async function repeat(act) {
	const times = [];

	for (let i = 0; i < Number(runs); i++)
		times.push(await act(i));
	return times;
}

// From an action in the page to the end of the frame that shows it, with what the page's workers do for it.
const shown = (page, action) => page.value(`new Promise((resolve) => {
	const began = performance.now();
	${action};
	const look = () => flamegrid.drawn() ? setTimeout(() => resolve(performance.now() - began)) : requestAnimationFrame(look);
	requestAnimationFrame(look);
})`);

// One action in each frame. Returns the times between frames, and the time that each action and its drawing took.
const frames = (page, action) => page.value(`new Promise((resolve) => {
	const between = [], work = [];
	let last = 0;
	const act = (now) => {
		if (last)
			between.push(now - last);
		last = now;
		if (between.length === ${FRAMES})
			return resolve({ between, work });
		const begin = performance.now(), i = between.length;
		${action};
		work.push(performance.now() - begin);
		requestAnimationFrame(act);
	};
	requestAnimationFrame(act);
})`);

async function printFrames(what, page, action) {
	const { between, work } = await frames(page, action), seconds = between.reduce((sum, ms) => sum + ms, 0) / 1000;

	console.log(`${what}: ${(between.length / seconds).toFixed(1)} frames a second, the longest ${Math.max(...between).toFixed(1)} ms; ` +
		`work for a frame ${median(work).toFixed(2)} ms, at most ${Math.max(...work).toFixed(2)} ms`);
}

const pointer = (type, x) => `axis.dispatchEvent(new PointerEvent("${type}", { pointerId: 1, pointerType: "mouse", button: 0, bubbles: true,
	clientX: box.x + ${x}, clientY: box.y + 50 }))`;
// There is no real pointer.
const AXIS = `window.axis = document.getElementById("axis");
	axis.setPointerCapture = () => {};
	window.box = axis.getBoundingClientRect();
	window.left = flamegrid.times().left`;
const key = (id, name, shift = false) => `document.getElementById("${id}").dispatchEvent(new KeyboardEvent("keydown",
	{ key: "${name}", shiftKey: ${shift}, bubbles: true }))`;

async function opened(browser, url) {
	const page = await browser.open(url);

	await page.until("document.querySelector('a')");
	return { page, link: await page.value("document.querySelector('a').href") };
}

// The first time the page is made; then it is there. A list of one profile has it begun.
async function measureLoads(browser, profile, lookMs) {
	const first = [], again = [];

	await repeat(async () => {
		const server = await serve(profile), { page, link } = await opened(browser, server.url);

		await new Promise((done) => setTimeout(done, lookMs));
		first.push(await timed(async () => {
			await page.value(`setTimeout(() => location.href = ${JSON.stringify(link)})`);
			await drawn(page);
		}));
		again.push(await timed(async () => {
			await page.reload();
			await drawn(page);
		}));
		await page.close();
		await server.stop();
	});
	print(`open a page that is to be made, ${lookMs} ms after the list came`, first);
	print("open it again", again);
}

async function measureRanges(page, link) {
	for (const span of SPANS_NS) {
		const whole = (await page.value("flamegrid.times()"))?.spanNs;

		print(`open the page of a range of ${span / 1e6} ms`, await repeat(async (i) => {
			const from = Math.floor((whole - span) * (i + 0.5) / Number(runs) / 1000) * 1000;
			const ms = await timed(async () => {
				await page.value(`setTimeout(() => location.href = ${JSON.stringify(`${link}?from=${from}&to=${from + span}`)})`);
				await drawn(page, `location.search.includes("from=${from}&")`);
			});
			return ms;
		}));
		await page.value(`setTimeout(() => location.href = ${JSON.stringify(link)})`);
		await drawn(page, "location.search === '' && flamegrid.times()");
	}
}

async function measureActions(page) {
	const graph = "graph";

	await page.value(AXIS);
	print("brush a range", await repeat((i) => shown(page, `${pointer("pointerdown", `left + ${20 + i * 10}`)};
		${pointer("pointermove", `left + ${320 + i * 10}`)};
		${pointer("pointerup", `left + ${320 + i * 10}`)}`)));
	print("clear it", await repeat(() => shown(page, `document.getElementById("range-clear").click()`)));
	print("step to the next bin", await repeat(() => shown(page, key("axis", "ArrowRight"))));
	print("step to the next bin, selecting", await repeat(() => shown(page, key("axis", "ArrowRight", true))));
	await page.value(key("graph", "ArrowDown"));
	print("zoom the graph", await repeat((i) => shown(page, i % 2 ? key(graph, "Home") : `${key(graph, "ArrowDown")}; ${key(graph, "Enter")}`)));
	print("search", await repeat((i) => shown(page, `const search = document.getElementById("search");
		search.value = ${JSON.stringify(["nccl", "compute", "/rank_.*/", "class:nccl"])}[${i} % 4]; search.dispatchEvent(new Event("input", { bubbles: true }))`)));
	await page.value(`const search = document.getElementById("search"); search.value = ""; search.dispatchEvent(new Event("input", { bubbles: true }))`);
	await printFrames("brushing", page, `if (i === 0) ${pointer("pointerdown", "left + 5")};
		${pointer("pointermove", "left + 10 + i * 7")};
		if (i === ${FRAMES - 1}) ${pointer("pointerup", "left + 10 + i * 7")}`);
	await printFrames("pointing", page, `${pointer("pointermove", "left + 10 + i * 7")}`);
	await printFrames("stepping", page, key("axis", "ArrowRight"));
	await printFrames("zooming", page, `i % 2 ? ${key(graph, "Home")} : (${key(graph, "ArrowDown")}, ${key(graph, "Enter")})`);
}

async function measureScrolling(browser) {
	const path = join(scratch, "times512.html");

	execFileSync(resolve(build, "tests/write_sample"), ["times512", path]);
	const page = await browser.open(pathToFileURL(path).href);
	await drawn(page);
	await printFrames("scrolling 512 strips", page, `document.getElementById("strips").scrollTop = i * 67`);
	await page.close();
}

const browser = new Browser(chromium);
try {
	const profile = given ? resolve(given) : makeProfile();

	for (const lookMs of LOOKS_MS)
		await measureLoads(browser, profile, lookMs);
	const server = await serve(profile), { page, link } = await opened(browser, server.url);
	await page.value(`setTimeout(() => location.href = ${JSON.stringify(link)})`);
	await drawn(page);
	await measureActions(page);
	if (picture) {
		await page.value(`axis.blur(); axis.dispatchEvent(new PointerEvent("pointerleave", { bubbles: true })); location.hash = "#time=10-12"`);
		await page.until("flamegrid.times().range?.[0] === 1e10 && flamegrid.settled()");
		writeFileSync(picture, await page.screenshot());
	}
	await measureRanges(page, link);
	await server.stop();
	await measureScrolling(browser);
} finally {
	await browser.close();
	rmSync(scratch, { recursive: true });
}
