// The words around the graph: totals, losses, path, details of one frame.
// Names come from the profiled program: they reach the page as textContent only.

const KIND_LABELS = { kernel: "kernel", memcpy: "memory copy", memset: "memset", graph: "CUDA graph",
	sync: "host wait", overhead: "overhead", um: "unified memory", module: "load of GPU code", memory: "memory",
	cpu: "on the CPU", offcpu: "off the CPU", call: "in a CUDA call", idle: "idle GPU",
	python: "Python", native: "C++", api: "CUDA call", group: "split", unknown: "not known", other: "other" };

function figuresOf(frame) {
	const time = sumOf(frame, "time"), count = sumOf(frame, "count"), bytes = sumOf(frame, "bytes");
	const own = sumOf(frame), figures = [];

	figures.push(["time", time < 1000n ? `${time} ns` : `${timeText(time)} (${grouped(time)} ns)`]);
	figures.push(["of all", percentText(own, sumOf(0))]);
	if (frame !== 0)
		figures.push(["of parent", percentText(own, sumOf(frames.parent[frame]))]);
	figures.push(["count", grouped(count)]);
	if (count > 0n)
		figures.push(["average", timeText(Number(time) / Number(count))]);
	if (profile.diff) {
		figures.push([profile.diff[0], weightText(choice.weight, exact(frames.before[choice.weight], frame))]);
		figures.push(["change", changeText(frame)]);
	} else if (profile.nrRanks > 1) {
		figures.push(["on", ranksText(frame)]);
	}
	if (bytes > 0n)
		figures.push(["bytes", bytes < 1024n ? `${bytes} B` : `${bytesText(bytes)} (${grouped(bytes)} B)`]);
	return figures;
}

const ranksText = (frame) => `${countRanks(profile, frames, frame)} of ${profile.nrRanks} ranks`;

function changeText(frame) {
	const before = exact(frames.before[choice.weight], frame), change = sumOf(frame) - before;
	const text = weightText(choice.weight, change < 0n ? -change : change);

	return `${change < 0n ? "−" : "+"}${text}` +
		(before > 0n ? ` (${change < 0n ? "−" : "+"}${(100 * Math.abs(Number(change)) / Number(before)).toFixed(1)} %)` : "");
}

function showDetails() {
	const frame = hover >= 0 ? hover : focus;

	$("name").textContent = nameOf(frame);
	$("name").title = nameOf(frame);
	$("figures").replaceChildren(...figuresOf(frame).map(([label, text]) => {
		const figure = element("div");

		figure.append(element("dt", label), element("dd", text));
		return figure;
	}));
}

function showTip(event) {
	const tip = $("tip");

	tip.hidden = hover < 0 || event.pointerType !== "mouse";
	if (tip.hidden)
		return;
	tip.firstElementChild.textContent = nameOf(hover);
	tip.lastElementChild.textContent =
		`${weightText(choice.weight, sumOf(hover))} · ${percentText(sumOf(hover), sumOf(0))} of all` +
		(profile.diff ? ` · ${changeText(hover)} against ${profile.diff[0]}` :
			profile.nrRanks > 1 ? ` · on ${ranksText(hover)}` : "");
	const left = event.clientX + 14, top = event.clientY + 18;
	tip.style.left = `${Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
	tip.style.top = `${top + tip.offsetHeight > innerHeight - 8 ? event.clientY - tip.offsetHeight - 10 : top}px`;
}

function showPath() {
	const path = [0, ...pathOf(zoom)], shown = path.length > 9 ? [0, -1, ...path.slice(-7)] : path;
	const nodes = shown.flatMap((frame, i) => {
		if (frame < 0)
			return [element("span", ` › … ${path.length - 8} more`)];
		const button = element("button", nameOf(frame).slice(0, 200));

		button.type = "button";
		button.addEventListener("click", () => zoomTo(frame));
		if (frame === zoom)
			button.setAttribute("aria-current", "true");
		return i ? [element("span", "›"), button] : [button];
	});

	if (zoom !== 0) {
		const reset = element("button", "Show everything", "reset");

		reset.type = "button";
		reset.addEventListener("click", () => zoomTo(0));
		nodes.push(reset);
	}
	$("path").replaceChildren(...nodes);
}

function showTotals() {
	const { kernels, kernelNs, copies, copyNs, graphs, graphNs, matched, launches, launchesFailed } = profile;
	const records = BigInt(kernels) + BigInt(copies) + BigInt(graphs);
	const gpuNs = BigInt(kernelNs) + BigInt(copyNs) + BigInt(graphNs);
	const totals = [["GPU time", timeText(gpuNs), `${grouped(gpuNs)} ns`],
		["kernels", `${grouped(kernels)} in ${timeText(kernelNs)}`, `${grouped(kernelNs)} ns`],
		["copies", `${grouped(copies)} in ${timeText(copyNs)}`, `${grouped(copyNs)} ns in copies and memsets`],
		...(graphs === "0" ? [] : [["graphs", `${grouped(graphs)} in ${timeText(graphNs)}`, `${grouped(graphNs)} ns`]]),
		["launches", grouped(launches) + (launchesFailed === "0" ? "" : `, ${grouped(launchesFailed)} failed`), ""],
		["matched", percentText(matched, records), `${grouped(matched)} of ${grouped(records)} records have a launch`],
		...profile.planes.slice(1).filter(([, , count]) => count !== "0").map(([, label, count, ns]) =>
			[label, `${grouped(count)} in ${timeText(ns)}`, `${grouped(ns)} ns; no GPU time`]),
		["processes", grouped(profile.processes), ""]];

	$("title").textContent = profile.title || "GPU profile";
	$("subtitle").textContent = profile.subtitle;
	$("simulated").hidden = !profile.simulated;
	$("totals").replaceChildren(...totals.map(([label, text, title]) => {
		const total = element("div");

		total.title = title;
		total.append(element("dt", label), element("dd", text));
		return total;
	}));
}

const WINDOWS = "capture_window"; // their number and time are kept beside what was lost

// What stands behind the number of each state: report_tree.h.
const STATES = ["complete", "stopped", "live", "empty", "incomplete"];

function showLosses() {
	const lost = BigInt(profile.lost) > 0n, note = $("loss"), state = STATES[profile.state];
	const records = grouped(BigInt(profile.kernels) + BigInt(profile.copies) + BigInt(profile.graphs));
	const counters = profile.losses.filter(([reason]) => profile.strings[reason] !== WINDOWS);
	const said = counters.map(([reason, count, ns, text, isLost]) => {
		const counter = element("span", `${profile.strings[text]}: ${grouped(count)}${ns === "0" ? "" : ` (${timeText(ns)})`}`);

		counter.title = `${profile.strings[text]} [${profile.strings[reason]}]`;
		counter.className = isLost ? "lost" : "";
		return counter;
	});
	const verdict = profile.verdict.charAt(0).toUpperCase() + profile.verdict.slice(1);

	note.className = lost || state === "incomplete" ? "note bad" : state === "empty" ? "note warn" : "note";
	note.replaceChildren(...[lost ? `${grouped(profile.lost)} lost.` : "", verdict && `${verdict}.`].filter((text) => text)
		.flatMap((text) => [element("b", text), " "]));
	note.append(state === "complete" && !lost ? `All ${records} GPU records are in this profile. ` : "");
	note.append(...said.flatMap((counter, i) => [i ? "; " : "", counter]));
	// Their list stands by itself: the verdict names nodes and ranks, this one processes.
	$("unclean").hidden = profile.unclean.length === 0 || state === "stopped";
	const list = profile.unclean.slice(0, 4).map(([host, , pid, rank]) =>
		`${rank < 0 ? "" : `rank ${rank}, `}pid ${pid} on ${profile.strings[host]}`);
	if (profile.unclean.length > list.length)
		list.push(`${profile.unclean.length - list.length} more`);
	$("unclean").textContent = `${profile.unclean.length} of ${profile.processes} processes ended without a goodbye: ${list.join("; ")}`;
	$("unclean").title = profile.unclean.map(([host, command, pid]) =>
		`${profile.strings[host]} ${pid}: ${profile.strings[command]}`).join("\n").slice(0, 4000);
}

// Totals of windows are not those of the run.
function showWindows() {
	const windows = profile.losses.find(([reason]) => profile.strings[reason] === WINDOWS);

	$("windows").hidden = !windows;
	if (windows)
		$("windows").replaceChildren(element("b", `Captured ${timeText(windows[2])} in ${grouped(windows[1])} ` +
			`${windows[1] === "1" ? "window" : "windows"}, not the run`));
}

// What processes said about how they were profiled.
function showNotices() {
	const { notices, processes, strings } = profile;

	$("notices").hidden = notices.length === 0;
	$("notices").querySelector("summary").textContent = `${grouped(notices.length)} ${notices.length === 1 ? "note" : "notes"} about this profile`;
	$("notices").querySelector("ul").replaceChildren(...notices.map(([text, count]) =>
		element("li", strings[text] + (processes > 1 ? ` (${count} of ${processes} processes)` : ""))));
}

function showChangeLegend() {
	$("legend").replaceChildren(...[[1, "more"], [0, "as much"], [-1, "less"]].map(([change, text]) => {
		const item = element("li"), swatch = element("i");

		swatch.style.background = fillOfChange(change);
		item.append(swatch, `${text}${change < 0 ? ` than ${profile.diff[0]}` : ""}`);
		return item;
	}));
}

function showLegend() {
	const present = new Set();

	if (profile.diff) {
		showChangeLegend();
		return;
	}

	for (let frame = 1; frame < frames.nr; frame++)
		present.add(kindOf(frame));
	$("legend").replaceChildren(...KINDS.filter((kind) => present.has(kind)).map((kind) => {
		const item = element("li"), swatch = element("i"), [hue, saturation, lightness] = theme[kind];

		swatch.style.background = `hsl(${hue} ${saturation}% ${lightness}%)`;
		item.append(swatch, KIND_LABELS[kind]);
		return item;
	}));
}
