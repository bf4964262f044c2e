// A button of `flamegrid serve --control` in Chromium. Arguments: CHROMIUM, URL with the token. Prints WHAT, what is so and what is expected, with tabs
// between.
import { Browser } from "../../browser/devtools.mjs";

const [chromium, url] = process.argv.slice(2);
const browser = new Browser(chromium);
const tell = (what, is, expected) => console.log([what, is, expected].join("\t"));

const page = await browser.open(url);
await page.until("document.querySelector('button')");
tell("the buttons", await page.value("[...document.querySelectorAll('form[method=post] button')].map((button) => button.textContent).join(' ')"), "1s 10s 60s");
await page.value("setTimeout(() => document.querySelector('form[method=post] button').click())");
// The page that waits goes on to the answer, which ends what was asked of it.
const answered = "/^(yes|no) /m.test(document.body?.innerText ?? '') || document.body?.innerText.startsWith('flamegrid:')";
for (const end = Date.now() + 60000; Date.now() < end;)
	if (await page.until(answered).then(() => true, () => false))
		break;
tell("its page says who has taken the command", await page.value("document.body.innerText.match(/^(yes|no) +\\d+/m)[0].replace(/ +/, ' ')"), "yes 2");
tell("its address", await page.value("location.pathname.replace(/[0-9a-f]{16}/, 'ID') + location.search"), "/p/ID/window?number=2");
await browser.close();
