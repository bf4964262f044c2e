// The words around the graph: path, totals, losses, notes, legend.

function showPath() {
	const path = [0, ...pathOf(zoom)], shown = path.length > 9 ? [0, -1, ...path.slice(-7)] : path;
	const nodes = shown.flatMap((frame, i) => {
		if (frame < 0)
			return [element("span", ` › … ${path.length - 8} more`)];
		const button = element("button", frame === 0 && !choice.sandwich ? labelOf(frame) : labelsOfId(profile, frames.name[frame])[1].slice(0, 200));

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

const sumOfDevices = (field) => (profile.devices ?? []).reduce((sum, device) => sum + device[field], 0);

// How far exact windows agree with continuous samples. Both shares are fractions with six digits.
const SHARE_ONE = 1e6, agreedText = (share) => percentText(Math.round(share * SHARE_ONE), SHARE_ONE);
const agreementText = ([lines, launches, , matched]) => `agree in ${agreedText(lines)} of lines and reasons` +
	(matched ? `, ${agreedText(launches)} of launches` : "");

// Processes of merged runs, say, need not mark as many.
const markedStepsText = ({ count, least }) => (least === count ? "" : `${grouped(least)} to `) + grouped(count);

function showTotals() {
	const { kernels, kernelNs, copies, copyNs, fills, memsetNs, pauseNs, graphs, graphNs, matched, launches, launchesFailed } = profile;
	const records = BigInt(kernels) + BigInt(copies) + BigInt(graphs);
	const gpuNs = BigInt(kernelNs) + BigInt(copyNs) + BigInt(graphNs);
	const busy = sumOfDevices("busy_ns"), idle = sumOfDevices("idle_ns");
	const busyText = (idleNs) => busy + idleNs > 0 ? `${(100 * busy / (busy + idleNs)).toFixed(0)} %` : "–";
	const paused = Math.min(Number(pauseNs), idle), pauses = paused > 0 ? `${timeText(paused)} of it in pauses, such as the start of the program` : "";
	const totals = [...(profile.devices?.length ? [["GPUs", grouped(profile.devices.length), ""],
		["busy", busyText(idle) + (paused > 0 ? `, ${busyText(idle - paused)} without pauses` : ""),
			`${timeText(idle)} idle between kernels${pauses && `, ${pauses}`}`]] : []),
	["GPU time", timeText(gpuNs), `${grouped(gpuNs)} ns`],
		["kernels", `${grouped(kernels)} in ${timeText(kernelNs)}`, `${grouped(kernelNs)} ns`],
		["copies", `${grouped(BigInt(copies) - BigInt(fills))} in ${timeText(BigInt(copyNs) - BigInt(memsetNs))}`,
			`${grouped(BigInt(copyNs) - BigInt(memsetNs))} ns`],
		...(fills === "0" ? [] : [["memsets", `${grouped(fills)} in ${timeText(memsetNs)}`, `${grouped(memsetNs)} ns`]]),
		...(profile.marked_steps ? [["steps", markedStepsText(profile.marked_steps) +
			(profile.marked_steps.mean_ns ? `, ${timeText(profile.marked_steps.mean_ns)} each` : ""),
			"that the program marked; their mean time on a GPU, pauses left out"]] : []),
		...(graphs === "0" ? [] : [["graphs", `${grouped(graphs)} in ${timeText(graphNs)}`, `${grouped(graphNs)} ns`]]),
		["launches", grouped(launches) + (launchesFailed === "0" ? "" : `, ${grouped(launchesFailed)} failed`), ""],
		["matched", percentText(matched, records), `${grouped(matched)} of ${grouped(records)} records have a launch`],
		...profile.planes.slice(1).filter(([, , count, , mj]) => count !== "0" || mj !== "0").map(([plane, label, count, ns, mj]) => plane === "idle" ?
			[label, timeText(ns) + (pauseNs === "0" ? "" : `, ${timeText(pauseNs)} in pauses`),
				`${grouped(ns)} ns${pauses && `, ${pauses}`}; no GPU time`] :
			plane === "stalls" ? [label, `${grouped(count)} samples of ${timeText(ns)}`, `${grouped(ns)} ns: the kernels' GPU time again`] :
			plane === "energy" ? [label, energyText(mj), `${grouped(mj)} mJ by the boards' counters`] :
			plane === "use" ? [label, `SM active ${timeText(mj)}`, `${grouped(mj)} ns in which multiprocessors had work, mean of all`] :
				[label, `${grouped(count)} in ${timeText(ns)}`, `${grouped(ns)} ns; no GPU time`]),
		...(profile.agreement ? [["exact windows", agreementText(profile.agreement),
			`${grouped(profile.agreement[2])} exact samples beside ${grouped(profile.agreement[4])} continuous ones`]] : []),
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
	note.append(state === "complete" && !lost ? `All ${records} GPU records are in this profile. ${said.length ? "Counted: " : ""}` : "");
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

// What to look at first: who holds up the others, and what takes most that need not be.
function showAdvice() {
	const { straggler, findings } = profile, advice = [];

	if (profile.step)
		advice.push([profile.step, "changes"]);
	if (straggler && straggler.late.length + straggler.others.length > 0)
		advice.push([straggler.line, "ranks"]);
	if (findings?.length > 0)
		advice.push([findings[0].text, "findings"]);
	$("advice").hidden = advice.length === 0;
	$("advice").replaceChildren(...advice.map(([text, word]) => {
		const button = element("button", visibleText(text), "link");

		button.type = "button";
		button.title = visibleText(text);
		button.addEventListener("click", () => openTab(word));
		return button;
	}));
}

function showChangeLegend() {
	const full = `by ${100 * FULL_CHANGE} % and above`;

	$("legend").replaceChildren(...[[1, `more, ${full}`], [0.3, "a little more"], [0, "as much"], [-0.3, "a little less"],
		[-1, `less, ${full}, than`]].map(([change, text]) => {
		const item = element("li"), swatch = element("i");

		swatch.style.background = fillOfChange(change);
		item.append(swatch, `${text}${change === -1 ? ` ${visibleText(profile.diff[0])}` : ""}`);
		return item;
	}));
}

function legendItem(word, text) {
	const item = element("li"), swatch = element("i");

	swatch.dataset.class = word;
	item.append(swatch, text);
	return item;
}

// The classes or modules of the frames that are there.
function showLegend() {
	const present = new Set();

	if (profile.diff) {
		showChangeLegend();
		return;
	}
	if (choice.color === "module") {
		if (moduleColors.size === 0)
			countModules();
		$("legend").replaceChildren(...[...moduleColors].map(([module, word]) => legendItem(word, visibleText(module).slice(0, 30))),
			legendItem("native", "other"));
		return;
	}
	const isShown = new Uint8Array(profile.names.length);
	frames.name.forEach((id) => (isShown[id] = 1));
	isShown.forEach((shown, id) => shown && present.add(classOfId(profile, id)));
	$("legend").replaceChildren(...CLASSES.filter((word) => present.has(word) && word !== "group")
		.map((word) => legendItem(word, CLASS_LABELS[word])));
}

// A bar of the classes' shares of GPU work. A click finds a class.
function showClassBar() {
	const totals = new Map(), bar = $("classes");
	let all = 0;

	eachLeaf("gpu", (leaf, ns) => {
		const word = classOfLeaf(profile, leaf);

		totals.set(word, (totals.get(word) ?? 0) + ns);
		all += ns;
	});
	bar.hidden = totals.size < 2 || Boolean(profile.diff);
	bar.replaceChildren(...[...totals].sort((a, b) => b[1] - a[1]).map(([word, ns]) => {
		const button = element("button"), share = percentText(BigInt(ns), BigInt(all)).replace(/\.\d+ %/, " %");
		const query = `class:${searchedClass(word)}`;

		button.type = "button";
		button.dataset.class = word;
		button.title = `${CLASS_LABELS[word]}: ${timeText(ns)}, ${percentText(BigInt(ns), BigInt(all))} of GPU work. Click to find it.`;
		button.append(element("span", CLASS_LABELS[word]), element("b", share));
		growElement(button, ns / all);
		button.addEventListener("click", () => setSearch($("search").value === query ? "" : query));
		return button;
	}));
}
