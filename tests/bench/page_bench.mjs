// Draws the same million frames with the page, with speedscope and with d3-flame-graph, each in a Chromium of its own:
//	npm install speedscope d3-flame-graph d3
//	node page_bench.mjs CHROMIUM WRITE_SAMPLE node_modules [RUNS [PAGE.html...]]
// Prints medians: size of the file, time to the first draw and to the end of the work, the same as processor time of the
// thread that draws (which other load on the machine hardly changes), time of a redraw (a zoom, up to the frame after
// it), and memory of the process. Further pages of the same sample are measured in turn.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { inflateSync } from "node:zlib";

import { Browser } from "../browser/devtools.mjs";

const [chromium, writeSample, modules, runs = "5", ...others] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "flamegrid-page-bench-"));
const scripts = new URL("../../report/writers/html/", import.meta.url);
const REDRAWS = 6;
const LONGEST_MS = 120000;
const calm = [{ name: "prefers-reduced-motion", value: "reduce" }];

// The page's own code decodes its profile, so that all three have the same data.
function decode(path) {
	const packed = /<script type="text\/plain" id="profile">([^<]*)</.exec(readFileSync(path, "utf8"))[1];
	const bytes = inflateSync(Buffer.from(packed, "base64")), end = bytes.indexOf(0);
	const code = ["durations.js", "profile.js", "classes.js"].map((name) => readFileSync(new URL(name, scripts), "utf8")).join("\n");
	const context = vm.createContext({ profile: { ...JSON.parse(bytes.subarray(0, end)), columns: bytes.subarray(end + 1) } });

	vm.runInContext(`${code}\ndecodeProfile(profile);`, context);
	return context.profile;
}

// Each GPU's leaf has the name that the page gives it with its GPUs joined.
function writeSpeedscope({ names, nodes, nodeParent, nodeName, leaves, leafNode, leafName, values }, path) {
	const samples = [], weights = [], stackOf = new Array(nodes);

	stackOf[0] = [];
	for (let node = 1; node < nodes; node++)
		stackOf[node] = [...stackOf[nodeParent[node]], nodeName[node]];
	for (let leaf = 0; leaf < leaves; leaf++) {
		samples.push([...stackOf[leafNode[leaf]], leafName[leaf]]);
		weights.push(values.time.lo[leaf] + values.time.hi[leaf] * 2 ** 28);
	}
	const total = weights.reduce((sum, weight) => sum + weight, 0);
	writeFileSync(path, JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json",
		shared: { frames: Array.from(names, (name) => ({ name: name || "all" })) },
		profiles: [{ type: "sampled", name: "million", unit: "nanoseconds", startValue: 0, endValue: total, samples, weights }] }));
}

function writeD3({ names, nodes, nodeParent, nodeName, leaves, leafNode, leafName, values }, path) {
	const made = Array.from({ length: nodes }, (_, node) => ({ name: names[nodeName[node]], value: 0, children: [] }));
	const read = (name) => readFileSync(join(modules, name), "utf8");

	for (let leaf = 0; leaf < leaves; leaf++) {
		const value = values.time.lo[leaf] + values.time.hi[leaf] * 2 ** 28, parent = made[leafNode[leaf]];
		const same = parent.children.find(({ name }) => name === names[leafName[leaf]]);

		if (same)
			same.value += value;
		else
			parent.children.push({ name: names[leafName[leaf]], value });
		parent.value += value;
	}
	for (let node = nodes - 1; node > 0; node--) {
		made[nodeParent[node]].value += made[node].value;
		made[nodeParent[node]].children.push(made[node]);
	}
	const json = JSON.stringify(made[0]).replaceAll("<", "\\u003c");
	writeFileSync(path, `<!DOCTYPE html><meta charset="utf-8"><style>${read("d3-flame-graph/dist/d3-flamegraph.css")}</style>
		<body><div id="chart"></div><script type="application/json" id="data">${json}</script>
		<script>${read("d3/dist/d3.min.js")}</script><script>${read("d3-flame-graph/dist/d3-flamegraph.umd.min.js")}</script>
		<script>
			window.chart = flamegraph.default().width(1280).minFrameSize(1).transitionDuration(0).sort(true);
			d3.select("#chart").datum(JSON.parse(document.getElementById("data").textContent)).call(chart);
		</script>`);
}

// When something is drawn, and when the work is done; window.drawn and window.ready are their times.
const watchFor = (drawn, ready) => `(() => {
	const note = (name) => {
		performance.mark("bench " + name);
		window[name] ??= performance.now();
	};
	performance.mark("bench begin");
	const look = () => {
		try {
			if (!window.drawn && (${drawn}))
				setTimeout(note, 0, "drawn");
			if (window.drawn && (${ready}))
				return note("ready");
		} catch {}
		requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
})();`;

const key = (target, key) => `${target}.dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", bubbles: true }))`;
const TOOLS = {
	page: { splits: true, watch: watchFor("flamegrid.settled() || flamegrid.state().firstDrawMs", "flamegrid.settled()"),
		prepare: key("document.getElementById('graph')", "ArrowDown"),
		zoom: [key("document.getElementById('graph')", "Enter"), key("document.getElementById('graph')", "Home") + "," +
			key("document.getElementById('graph')", "ArrowDown")] },
	speedscope: { watch: watchFor("document.title !== 'speedscope' && document.querySelector('canvas')", "true"),
		prepare: "0", zoom: [key("window", "+"), key("window", "0")] },
	d3: { watch: watchFor("document.querySelectorAll('#chart g').length > 1", "true"), prepare: "0",
		zoom: ["chart.zoomTo(d3.select('#chart svg').datum().children[0])", "chart.resetZoom()"] },
};

// From an action to the end of the frame that shows it.
const redraw = (action) => `new Promise((resolve) => {
	const started = performance.now();
	${action};
	requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
})`;

async function residentBytes(browser) {
	const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
	const sizes = processInfo.filter(({ type }) => type === "renderer").map(({ id }) =>
		1024 * Number(/^Rss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))[1]));

	return Math.max(...sizes);
}

// The processor time, in ms, of the page's thread between its begin and each of the marks, from a trace.
async function traceMarks(browser, run) {
	const events = [];
	let complete;
	const ended = new Promise((resolve) => (complete = resolve)), listen = ({ method, params }) => {
		if (method === "Tracing.dataCollected")
			events.push(...params.value);
		else if (method === "Tracing.tracingComplete")
			complete();
	};

	browser.listeners.add(listen);
	await browser.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["blink.user_timing"] } });
	await run();
	await browser.send("Tracing.end");
	await ended;
	browser.listeners.delete(listen);
	const at = (name) => events.filter((event) => event.name === `bench ${name}`).at(-1)?.tts / 1000;
	return { drawnCpu: at("drawn") - at("begin"), readyCpu: at("ready") - at("begin") };
}

// Processor time of all tasks of the page's thread.
async function taskMs(page) {
	const { metrics } = await page.send("Performance.getMetrics");

	return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
}

const median = (numbers) => numbers.slice().sort((a, b) => a - b)[numbers.length >> 1];

// Until the ranks are drawn, after the switch is set.
async function measureSplit(page) {
	const before = await taskMs(page), split = await page.value(`new Promise((resolve) => {
		const started = performance.now(), look = () => flamegrid.roots()[0].name === "rank0" ?
			setTimeout(() => resolve(performance.now() - started)) : requestAnimationFrame(look);

		document.querySelector('input[name="split"][value="rank"]').click();
		look();
	})`);

	return { split, splitCpu: await taskMs(page) - before };
}

async function measure({ watch, prepare, zoom, splits }, url) {
	const browser = new Browser(chromium);

	try {
		let page;
		const cpu = await traceMarks(browser, async () => {
			page = await browser.open(url, { watch, media: calm });
			await page.value(`new Promise((resolve, reject) => {
				const look = () => window.ready ? resolve() : performance.now() > ${LONGEST_MS} ? reject(new Error("nothing is drawn")) : setTimeout(look, 50);
				look();
			})`);
		});
		const bytes = await residentBytes(browser), redraws = [];
		await page.value(prepare);
		await page.send("Performance.enable", { timeDomain: "threadTicks" });
		const before = await taskMs(page);
		for (let i = 0; i < REDRAWS; i++)
			redraws.push(await page.value(redraw(zoom[i % 2])));
		const redrawCpu = (await taskMs(page) - before) / REDRAWS;
		const split = splits ? await measureSplit(page) : {};
		return { ...split, drawn: await page.value("drawn"), ready: await page.value("ready"), redraw: median(redraws), redrawCpu, bytes, ...cpu };
	} finally {
		await browser.close();
	}
}

try {
	const page = join(scratch, "million.html"), scope = join(scratch, "million.speedscope.json"), d3 = join(scratch, "d3.html");
	execFileSync(writeSample, ["million", page]);
	const profile = decode(page), cases = [["page", "page", page, pathToFileURL(page).href],
		...others.map((path) => [basename(path), "page", path, pathToFileURL(resolve(path)).href])];
	if (modules) {
		const script = join(scratch, "profile.js");

		writeSpeedscope(profile, scope);
		writeD3(profile, d3);
		writeFileSync(script, `speedscope.loadFileFromBase64("million.speedscope.json", "${readFileSync(scope).toString("base64")}")`);
		cases.push(["speedscope", "speedscope", scope, `${pathToFileURL(resolve(modules, "speedscope/dist/release/index.html")).href}#localProfilePath=${script}`],
			["d3-flame-graph", "d3", d3, pathToFileURL(d3).href]);
	}
	const results = new Map(cases.map(([name]) => [name, []]));
	for (let run = 0; run < Number(runs); run++)
		for (const [name, tool, , url] of cases)
			results.get(name).push(await measure(TOOLS[tool], url).catch((error) => ({ error })));
	for (const [name, , path] of cases) {
		const all = results.get(name), good = all.filter(({ error }) => !error);
		const of = (field, digits = 0) => median(good.map((each) => each[field])).toFixed(digits);

		console.log(good.length === 0 ? `${name}: ${all[0].error.message}` :
			`${name}: file ${(statSync(path).size / 1e6).toFixed(1)} MB, first draw ${of("drawn")} ms, done ${of("ready")} ms, ` +
			`processor time ${of("drawnCpu")} and ${of("readyCpu")} ms, redraw ${of("redraw", 1)} ms (${of("redrawCpu", 1)}), ` +
			(good[0].split ? `split ${of("split")} ms (${of("splitCpu")}), ` : "") +
			`memory ${(of("bytes") / 2 ** 20).toFixed(0)} MiB, ${good.length} of ${all.length} runs`);
	}
} finally {
	rmSync(scratch, { recursive: true });
}
