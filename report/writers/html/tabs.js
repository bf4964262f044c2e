// The tabs: Flame, changes of a difference, findings, and tables of kernels, metrics, lines, steps, ranks, collectives, memory and notes.

const hasGpuWork = () => profile.rows.some(({ plane }) => plane === "gpu");

// A tab is there if it has data. make(): its content, made when it is opened, and again when filters change. ofGpu: it has
// GPU work whatever plane the graph shows, and says so.
const TABS = [
	{ word: "flame", label: "Flame", has: () => true },
	{ word: "changes", label: "Changes", has: () => Boolean(profile.diff), make: makeChanges },
	{ word: "findings", label: "Findings", badge: () => grouped(profile.findings.length), has: () => profile.findings?.length > 0, make: makeFindings },
	{ word: "kernels", ofGpu: true, label: "Kernels", has: () => hasGpuWork(), make: makeKernels },
	{ word: "metrics", label: "Metrics", has: () => profile.kernel_metrics?.length > 0, make: makeMetrics },
	{ word: "lines", label: "Lines", has: () => profile.lineClass && profile.leaves > 0 && profile.resources.length === 0, make: makeLines },
	{ word: "steps", ofGpu: true, label: "Steps", has: () => (profile.steps || profile.marked_steps) && hasGpuWork(), make: makeSteps },
	{ word: "ranks", ofGpu: true, label: "Ranks", has: () => (profile.ranks.length > 1 || profile.nrGpus > 1) && hasGpuWork(), make: makeRanks, badge: badgeOfRanks },
	{ word: "collectives", label: "Collectives", has: () => profile.collectives?.length > 0, make: makeCollectives },
	{ word: "memory", label: "Memory", has: () => profile.memory?.length > 0, make: makeMemory },
	{ word: "notes", label: "Notes", has: () => profile.notices.length + profile.losses.length + profile.unclean.length + profile.cost.length > 0, make: makeNotes },
];

// ---- Kernels ----

function kernelRows() {
	const rows = new Map();

	eachLeaf("gpu", (leaf, ns) => {
		const id = joinedName(profile, profile.leafName[leaf]);
		const row = rows.get(id) ?? { id, ns: 0, count: 0, bytes: 0, durations: profile.durations && new Float64Array(BUCKETS) };

		row.ns += ns;
		if (row.durations && !addDurations(row.durations, leaf))
			row.durations = null;
		row.count += countOf(leaf);
		row.bytes += bytesOf(leaf);
		rows.set(id, row);
	});
	return [...rows.values()];
}

function makeKernels() {
	const rows = kernelRows(), all = rows.reduce((sum, { ns }) => sum + ns, 0);

	for (const row of rows) {
		const configs = configsOf(profile.names[row.id]).slice().sort((a, b) => b.total_ns - a.total_ns);

		Object.assign(row, { label: labelsOfId(profile, row.id)[0], name: visibleText(profile.names[row.id]),
			work: CLASS_LABELS[classOfId(profile, row.id)], extremes: extremesOf(configs), configs });
	}
	const config = ({ configs }) => configs.length === 0 ? "" : configText(configs[0]) + (configs.length > 1 ? ` +${configs.length - 1}` : "");
	const table = makeTable("GPU work by kernel, copy and memset. Click a name for its callers.", [
		{ ...textColumn("Name", ({ label }) => label), title: ({ name }) => name, fill: linkCell(({ label }) => label, ({ id }) => openSandwich(id)) },
		{ ...textColumn("Class", ({ work }) => work), fill: ({ id, work }, cell) => {
			const swatch = element("i", undefined, "swatch");

			swatch.dataset.class = classOfId(profile, id);
			cell.append(swatch, work);
		} },
		shareColumn("Share", ({ ns }) => ns, all), timeColumn("Time", ({ ns }) => ns), countColumn("Count", ({ count }) => count),
		timeColumn("Mean", ({ ns, count }) => count ? ns / count : -1),
		timeColumn("Min", ({ extremes }) => extremes?.min ?? -1, "of all launches of this kernel"),
		...(profile.durations ? [["p50", 500, "half"], ["p99", 990, "99 %"]].map(([label, perMille, part]) =>
			timeColumn(label, ({ durations, extremes }) => durations ? mostWithin(durations, perMille, extremes) : -1,
				`${part} of the launches took this at most: the end of a bucket that is up to a quarter wide, or the maximum`)) : []),
		timeColumn("Max", ({ extremes }) => extremes?.max ?? -1, "of all launches of this kernel"),
		{ ...textColumn("Configuration", config, "the one with most time, and how many others there are"),
			title: ({ configs }) => configs.slice(0, 12).map((each) => `${configText(each)} · ${occupancyText(each)} · ${timeText(each.total_ns)}`).join("\n") },
		{ label: "Occupancy", value: ({ configs }) => configs[0]?.occupancy ? configs[0].occupancy.warps / configs[0].occupancy.warps_max : -1,
			text: ({ configs }) => configs[0]?.occupancy ? `${(100 * configs[0].occupancy.warps / configs[0].occupancy.warps_max).toFixed(0)} %` : "–",
			title: ({ configs }) => configs[0] ? occupancyText(configs[0]) : "" },
	], rows, 2);

	table.classList.add("wide");
	return [table];
}

// ---- Lines ----

// A program without Python has functions in place of lines, but for those that are an address in a library.
const isOwn = (id, word) => classOfId(profile, id) === word && !profile.frameworkOf[id] && !/^\[|\.so\S*\+0x/.test(profile.names[id]);
const isLine = (id) => isOwn(id, profile.lineClass);

// Of each of the user's lines: what its own calls launched, and what it has with all that it calls.
function lineRows() {
	const { nodes, nodeParent, nodeName } = profile;
	const own = new Float64Array(nodes), ownCount = new Float64Array(nodes), all = new Float64Array(nodes);
	const lineOf = new Int32Array(nodes).fill(-1), rows = new Map();
	let whole = 0;

	eachLeaf(shownPlane(), (leaf, ns) => {
		own[profile.leafNode[leaf]] += ns;
		ownCount[profile.leafNode[leaf]] += countOf(leaf);
		whole += ns;
	});
	all.set(own);
	for (let node = nodes - 1; node > 0; node--)
		all[nodeParent[node]] += all[node];
	for (let node = 1; node < nodes; node++) {
		const id = nodeName[node], line = isLine(id);

		lineOf[node] = line ? node : lineOf[nodeParent[node]];
		if (all[node] === 0 || lineOf[node] < 0)
			continue;
		const lineId = nodeName[lineOf[node]], row = rows.get(lineId) ?? { id: lineId, own: 0, all: 0, count: 0 };
		rows.set(lineId, row);
		row.own += own[node];
		row.count += ownCount[node];
		if (line && !hasAbove(node, id))
			row.all += all[node];
	}
	return { rows: divideLine([...rows.values()], { own, ownCount, all, lineOf }, whole), whole };
}

// Divides the line that has more than half of the time, as host_lines.c does: by the lines that call it, outward from
// parts that still have more than half.
function divideLine(rows, { own, ownCount, all, lineOf }, whole) {
	const { nodes, nodeParent, nodeName } = profile;
	const most = rows.find((row) => row.own > whole / 2), parts = new Map(), places = new Map();

	if (!most)
		return rows;
	for (let node = 1; node < nodes; node++) {
		const line = lineOf[node];

		if (line < 0 || nodeName[line] !== most.id)
			continue;
		const place = places.get(line) ?? { line, at: line, caller: -1, own: 0, count: 0 };
		places.set(line, place);
		place.own += own[node];
		place.count += ownCount[node];
	}
	for (let left = [...places.values()]; left.length > 0;) {
		const sums = new Map(), before = left.reduce((sum, place) => sum + place.own, 0);

		for (const place of left) {
			do
				place.at = place.at > 0 ? lineOf[nodeParent[place.at]] : -1;
			while (place.at > 0 && nodeName[place.at] === most.id);
			place.name = place.at > 0 ? nodeName[place.at] : -1;
			sums.set(place.name, (sums.get(place.name) ?? 0) + place.own);
		}
		for (const place of left)
			if (place.name >= 0 && sums.get(place.name) < before)
				place.caller = place.name;
		left = left.filter(({ name }) => name >= 0 && sums.get(name) > whole / 2);
	}
	for (const { line, caller, own: ns, count } of places.values()) {
		const part = parts.get(caller) ?? { id: most.id, caller, own: 0, all: 0, count: 0 };

		parts.set(caller, part);
		part.own += ns;
		part.count += count;
		if (!hasAbove(line, most.id))
			part.all += all[line];
	}
	return [...rows.filter((row) => row !== most), ...parts.values()];
}

function hasAbove(node, id) {
	for (node = profile.nodeParent[node]; node > 0; node = profile.nodeParent[node])
		if (profile.nodeName[node] === id)
			return true;
	return false;
}

function makeLines() {
	const { rows, whole } = lineRows(), callerOf = new Map(profile.callers);

	for (const row of rows) {
		const caller = row.caller >= 0 ? row.caller : callerOf.get(row.id); // what divides a line says more

		row.name = visibleText((caller >= 0 ? `${profile.names[caller]} > ` : "") + profile.names[row.id]);
	}
	const what = profile.lineClass === "python" ? "line of Python" : "function", plane = shownPlane(), isGpu = plane === "gpu";

	return [makeTable(`${planeWords(plane)} by ${what}. Click one for its callers and callees.`, [
		{ ...textColumn(what === "function" ? "Function" : "Line", ({ name }) => name), fill: linkCell(({ name }) => name, ({ id }) => openSandwich(id)) },
		shareColumn("Share, own", ({ own }) => own, whole),
		timeColumn("Own", ({ own }) => own, `${isGpu ? "GPU time that was launched from here" : "time that is here"}, below no other ${what}`),
		timeColumn("With callees", ({ all }) => all, isGpu ? "all GPU time below it" : "all time below it"),
		countColumn("Count, own", ({ count }) => count),
	], rows, 1)];
}

// ---- Steps, collectives, memory ----

function makeSteps() {
	return [...(profile.marked_steps ? makeMarkedSteps() : []), ...(profile.steps ? [makeStepKinds()] : [])];
}

// What the average step of one GPU consists of. A profile has sums alone: single steps are in the timeline.
function makeMarkedSteps() {
	const { count, mean_ns: mean } = profile.marked_steps, rows = new Map(), gpus = new Set();

	eachLeaf("gpu", (leaf, ns) => {
		const word = classOfLeaf(profile, leaf), row = rows.get(word) ?? { label: CLASS_LABELS[word], word, ns: 0, count: 0 };
		const { host, gpu } = profile.rows[profile.leafRow[leaf]];

		gpus.add(`${host} ${gpu}`);
		row.ns += ns;
		row.count += countOf(leaf);
		rows.set(word, row);
	});
	const isWhole = Object.keys(choice.only).length === 0, all = [...rows.values()];
	const idle = sumOfDevices("idle_ns") - Number(profile.pauseNs), nrGpus = profile.devices?.length;
	// Of one GPU. The time tells them of merged runs, too, which have steps of their own each.
	const ofGpu = mean && nrGpus ? Math.round((sumOfDevices("busy_ns") + idle) / mean) / nrGpus : count;
	const steps = ofGpu * ((isWhole && nrGpus) || gpus.size || 1);

	for (const row of all)
		Object.assign(row, { ns: row.ns / steps, count: row.count / steps });
	if (mean && isWhole && idle > 0)
		all.push({ label: CLASS_LABELS.idle, word: "idle", ns: idle / nrGpus / ofGpu, count: -1 });
	return [element("p", `${markedStepsText(profile.marked_steps)} steps${mean ? `, ${timeText(mean)} each` : ""}, on average. How long single steps took, and why, ` +
		"says flamegrid timeline --steps, of runs with --timeline."),
	makeTable("What one step of a GPU consists of. Work that runs at once counts for each class, so that the sum may exceed the step. " +
		"Where processes share a GPU, one class may, too.", [
		{ ...textColumn("Class", ({ label }) => label), fill: ({ word, label }, cell) => {
			const swatch = element("i", undefined, "swatch");

			if (word !== "idle") // whose colour is that of another class of work
				swatch.dataset.class = word;
			cell.append(swatch, label);
		} },
		shareColumn("Share of a step", ({ ns }) => ns, mean ?? all.reduce((sum, { ns }) => sum + ns, 0)),
		timeColumn("Time in a step", ({ ns }) => ns),
		{ ...countColumn("Count in a step", ({ count: of }) => of), text: ({ count: of }) => of < 0 ? "–" : +of.toPrecision(4) },
	], all, 2)];
}

function makeStepKinds() {
	const rows = new Map();
	let all = 0;

	eachLeaf("gpu", (leaf, ns) => {
		const kind = profile.rows[profile.leafRow[leaf]]["step-kind"], row = rows.get(kind) ?? { kind, ns: 0, count: 0 };

		row.ns += ns;
		row.count += countOf(leaf);
		all += ns;
		rows.set(kind, row);
	});
	return makeTable("GPU work by kind of step.", [textColumn("Step", ({ kind }) => visibleText(kind)),
		shareColumn("Share", ({ ns }) => ns, all), timeColumn("Time", ({ ns }) => ns), countColumn("Count", ({ count }) => count)],
	[...rows.values()], 1);
}

function makeCollectives() {
	const rows = profile.collectives;

	return [makeTable("Calls of collective libraries, by communicator and function.", [
		textColumn("Communicator", ({ name, communicator, communicator_id }) => visibleText(name || communicator || `${communicator_id ?? "group"}`)),
		textColumn("Function", (row) => row.function),
		{ ...countColumn("Ranks", ({ ranks }) => ranks ?? -1), text: ({ ranks, ranks_seen }) =>
			ranks === null || ranks === ranks_seen ? grouped(ranks_seen) : `${grouped(ranks_seen)} of ${grouped(ranks)}` },
		countColumn("Calls", ({ calls }) => calls), countColumn("Failed", ({ failed }) => failed),
		bytesColumn("Bytes", ({ bytes }) => bytes), timeColumn("Host time", ({ host_ns }) => host_ns),
		timeColumn("Longest call", ({ max_ns }) => max_ns, "of host time"),
		timeColumn("GPU time", ({ gpu_ns, gpu_calls }) => gpu_calls ? gpu_ns : -1, "of calls whose kernel is known"),
		timeColumn("GPU mean", ({ gpu_ns, gpu_calls }) => gpu_calls ? gpu_ns / gpu_calls : -1),
	], rows, 6)];
}

function makeMemory() {
	return [makeTable("Memory of each process on each GPU.", [
		textColumn("Process", ({ host, rank, pid }) => `${rank === null ? "" : `rank ${rank}, `}pid ${pid} on ${visibleText(host)}`),
		textColumn("GPU", ({ gpu }) => gpu === null ? "–" : `GPU${gpu}`), textColumn("Space", ({ space }) => space),
		bytesColumn("Peak", ({ peak_bytes }) => peak_bytes),
		timeColumn("Peak after", ({ peak_after_ns }) => peak_after_ns, "since the first record on a GPU"),
		{ ...bytesColumn("Live", ({ live_bytes }) => live_bytes, "not freed when the profile ended") },
		countColumn("Allocations", ({ allocs }) => allocs), countColumn("Frees", ({ frees }) => frees),
		countColumn("Left out", ({ left_out }) => left_out, "events that are missing from these figures"),
	], profile.memory, 3)];
}

function badgeOfRanks() {
	const differing = differingUnits();

	return differing > 0 && `${grouped(differing)} ${differing === 1 ? "differs" : "differ"}`;
}

// ---- Notes ----

function noteList(title, texts) {
	const section = element("section"), list = element("ul");

	list.append(...texts.map((text) => element("li", text)));
	section.append(element("h2", title), list);
	return section;
}

function makeNotes() {
	const { notices, losses, unclean, strings, processes, cost } = profile;
	const counter = ([reason, count, ns, text]) =>
		`${visibleText(strings[text])}: ${grouped(count)}${ns === "0" ? "" : ` (${timeText(ns)})`} [${visibleText(strings[reason])}]`;
	const lost = losses.filter(([, , , , isLost]) => isLost), counted = losses.filter(([, , , , isLost]) => !isLost);

	return [
		["Lost", lost.map(counter)],
		["Counted", counted.map(counter)],
		["What processes said", notices.map(([text, count]) => visibleText(strings[text]) +
			(processes > 1 && count > 0 ? ` (${count} of ${processes} processes)` : ""))],
		["Processes that ended without a goodbye", unclean.map(([host, command, pid, rank]) =>
			`${rank < 0 ? "" : `rank ${rank}, `}pid ${pid} on ${visibleText(strings[host])}: ${visibleText(strings[command])}`)],
		["What profiling cost", cost ? [cost.replace("profiling cost: ", "")] : []],
	].filter(([, texts]) => texts.length > 0).map(([title, texts]) => noteList(title, texts));
}

// ---- The row of tabs ----

function makeTabs() {
	profile.lineClass = ["python", "native"].find((word) => profile.nodeName.some((id, node) => node > 0 && isOwn(id, word)));
	for (const tab of TABS.filter(({ word, has }) => word === "flame" || (profile.diff ? word === "changes" : has()))) {
		const button = element("button", tab.label), badge = tab.badge?.();

		if (badge)
			button.append(element("b", badge));
		button.type = "button";
		button.id = `tab-${tab.word}`;
		button.setAttribute("role", "tab");
		button.setAttribute("aria-controls", tab.make ? "table" : "flame");
		button.addEventListener("click", () => openTab(tab.word));
		$("tabs").append(button);
	}
	$("tabs").hidden = $("tabs").children.length === 1;
	$("tabs").addEventListener("keydown", (event) => {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], all = [...$("tabs").children];

		if (!step)
			return;
		const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
		next.focus();
		next.click();
		event.preventDefault();
	});
}

function noteOfPlane({ ofGpu }) {
	const plane = shownPlane();

	return ofGpu && plane !== "gpu" ? [element("p", `The graph shows ${planeLabel(plane)}. This tab has GPU work.`, "note")] : [];
}

function openTab(word) {
	const tab = TABS.find((each) => each.word === word && $(`tab-${word}`)) ?? TABS[0];

	choice.tab = tab.word;
	for (const button of $("tabs").children) {
		const selected = button.id === `tab-${tab.word}`;

		button.setAttribute("aria-selected", String(selected));
		button.tabIndex = selected ? 0 : -1;
	}
	$("flame").hidden = Boolean(tab.make);
	$("table").hidden = !tab.make;
	$("table").setAttribute("aria-labelledby", `tab-${tab.word}`);
	$("table").replaceChildren(...noteOfPlane(tab), ...(tab.make?.() ?? []));
	if (!tab.make)
		refit();
	saveState();
}
