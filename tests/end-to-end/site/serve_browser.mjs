// `flamegrid serve` in Chromium. Arguments: CHROMIUM, URL with the token, the profile's name. Prints WHAT, what is so and what is
// expected, with tabs between.
import { Browser } from "../../browser/devtools.mjs";

const [chromium, url, name] = process.argv.slice(2);
const browser = new Browser(chromium);
// While the page that waits reloads itself, nothing can be asked.
async function settled(page) {
	for (const end = Date.now() + 60000; Date.now() < end;)
		if (await page.value("window.flamegrid?.settled()").catch(() => false))
			return;
	throw new Error("no page came");
}
const tell = (what, is, expected) => console.log([what, is, expected].join("\t"));
const tab = (page) => page.value("flamegrid.state().tab");

const page = await browser.open(url);
await page.until("document.querySelector('table a')");
tell("the address has no token any more", await page.value("location.search"), "");
tell("a hostile name is text", await page.value("document.querySelectorAll('b').length"), 0);
const link = await page.value(`[...document.querySelectorAll('a')].find((a) => a.textContent.endsWith(${JSON.stringify(name)})).href`);
await page.value(`location.href = ${JSON.stringify(`${link}#tab=kernels`)}`);
await settled(page);
tell("the part of a page that is still to be made", await tab(page), "kernels");
await page.value("document.getElementById('tab-lines').click()");
await settled(page);
await page.value("window.isOld = true; setTimeout(() => location.reload())");
await page.until("!window.isOld").catch(() => page.until("!window.isOld"));
await settled(page);
tell("after a reload", await tab(page), "lines");
const half = await page.value("Math.floor(flamegrid.times().spanNs / 2000) * 1000"), seconds = String(half / 1e9);
await page.value(`document.getElementById('tab-flame').click(); location.hash = '#time=0-${seconds}'`);
await page.until("!document.getElementById('range').hidden");
tell("a range has no commands here", await page.value("document.getElementById('range-commands').hidden"), true);
const whole = await page.value("flamegrid.state().total.count");
await page.value("window.isOld = true; document.getElementById('range-page').click()");
await page.until("!window.isOld").catch(() => page.until("!window.isOld"));
await settled(page);
tell("the page of the range has its address", await page.value("location.search"), `?from=0&to=${half}`);
tell("it has a part of the work", await page.value(`(({ total }) => Number(total.count) > 0 && Number(total.count) < ${whole})(flamegrid.state())`), true);
const sum = () => page.value("(({ time, count }) => [time, count])(flamegrid.state().total)");
const first = await sum();
tell("it says which", await page.value("document.getElementById('part').textContent"),
	`This page has the GPU work that began between 0 s and ${seconds} s of the profile. Page of the whole profile`);

// Drags over parts of the axis, and opens the page of the range.
async function brush(from, to) {
	const { x, y, width } = await page.value(`(({ x, y }) => ({ x: x + flamegrid.times().left, y: y + flamegrid.times().top + 8,
		width: flamegrid.times().width - flamegrid.times().left }))(document.getElementById("axis").getBoundingClientRect())`);

	for (const [type, part] of [["mousePressed", from], ["mouseMoved", (from + to) / 2], ["mouseMoved", to], ["mouseReleased", to]])
		await page.send("Input.dispatchMouseEvent", { type, x: x + part * width, y, button: type === "mouseMoved" ? "none" : "left",
			buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });
	await settled(page);
	const range = await page.value("flamegrid.times().range");
	await go("document.getElementById('range-page').click()");
	return range;
}

async function go(action) {
	await page.value(`window.isOld = true; ${action}`);
	await page.until("!window.isOld").catch(() => page.until("!window.isOld"));
	await settled(page);
}

const ends = () => page.value("(({ beginNs, endNs }) => String([beginNs, endNs]))(flamegrid.times())");
tell("its time axis is that of the range", await ends(), `0,${half}`);
const within = await brush(0.25, 0.75);
tell("a range of the range has its times from the profile's first event", await ends(), String(within));
tell("it lies within", within[0] > 0 && within[1] < half, true);
const seconds2 = within.map((ns) => String(ns / 1e9)).join(" s to ");
tell("its address has the way", await page.value("location.search"), `?from=${within[0]}&to=${within[1]}&within=0-${half}`);
const few = Math.floor((within[0] + within[1]) / 2);
await go(`location.hash = "#time=${few / 1e9}-${(few + 40000) / 1e9}"; setTimeout(() => document.getElementById("range-page").click(), 50)`);
tell("at the third level, too", await page.value("location.search"), `?from=${few}&to=${few + 40000}&within=0-${half},${within[0]}-${within[1]}`);
tell("three ways lead out", await page.value("[...document.querySelectorAll('#part a')].map((a) => a.textContent).join('|')"),
	`Page of the whole profile|0 s to ${seconds} s|${seconds2} s`);
await go("document.querySelectorAll('#part a')[2].click()");
tell("one level up", await ends(), String(within));
tell("one level up: the range is selected", await page.value("String(flamegrid.times().range)"), `${few},${few + 40000}`);
await go("document.querySelectorAll('#part a')[1].click()");
tell("two levels up", `${await page.value("location.search")} ${await page.value("String(flamegrid.times().range)")}`, `?from=0&to=${half} ${within}`);
await go("document.querySelector('#part a').click()");
tell("back: the whole", await page.value("flamegrid.state().total.count"), whole);
const all = await sum(), after = await page.value("flamegrid.times().spanNs + 10e9");
tell("back: the range is selected", await page.value("String(flamegrid.times().range)"), `0,${half}`);
await page.value(`window.isOld = true; setTimeout(() => location.href = ${JSON.stringify(link)} + "?from=${half}&to=${after}")`);
await page.until("!window.isOld").catch(() => page.until("!window.isOld"));
await settled(page);
tell("the rest has what the range has not, to the nanosecond", String((await sum()).map((value, i) => BigInt(value) + BigInt(first[i]))), String(all));
tell("without complaints", page.complaints.join(" "), "");
await browser.close();
