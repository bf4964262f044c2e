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
tell("without complaints", page.complaints.join(" "), "");
await browser.close();
