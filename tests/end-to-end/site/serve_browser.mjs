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
await page.value("window.isOld = true; document.querySelector('#part a').click()");
await page.until("!window.isOld").catch(() => page.until("!window.isOld"));
await settled(page);
tell("back: the whole", await page.value("flamegrid.state().total.count"), whole);
const all = await sum(), after = await page.value("flamegrid.times().spanNs + 10e9");
tell("back: the range is selected", await page.value("String(flamegrid.times().range)"), `0,${half}`);
await page.value(`window.isOld = true; setTimeout(() => location.href = ${JSON.stringify(link)} + "?from=${half}&to=${after}")`);
await page.until("!window.isOld").catch(() => page.until("!window.isOld"));
await settled(page);
tell("the rest has what the range has not, to the nanosecond", String((await sum()).map((value, i) => BigInt(value) + BigInt(first[i]))), String(all));
tell("without complaints", page.complaints.join(" "), "");
await browser.close();
