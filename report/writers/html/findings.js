// The tab of findings: what somebody should change, the longest first, in words, with evidence, threshold and cure. A button
// shows the evidence in the flame graph.

function makeFindings() {
	const list = element("ol");

	list.className = "findings";
	list.append(...profile.findings.map((finding) => {
		const item = element("li"), parts = element("dl"), open = openerOf(finding);
		const said = [["Evidence", finding.evidence], ["Threshold", `${+(100 * finding.threshold).toPrecision(6)} %`], ["Cure", finding.cure]];

		parts.append(...said.flatMap(([label, words]) => [element("dt", label), element("dd", visibleText(words))]));
		item.append(element("b", visibleText(finding.text)), parts);
		if (open)
			item.append(open);
		return item;
	}));
	return [list];
}

// A button that shows where a finding's evidence is, or how to get a page that has it; null: there is no such place.
function openerOf(finding) {
	const id = evidenceId(finding), planes = id < 0 ? new Set() : planesOf(id);

	if (finding.kind === "exposed_nccl")
		return opener("Show NCCL's kernels", () => setSearch("class:nccl"));
	if (planes.size === 0)
		return finding.line && finding.plane !== "gpu" &&
			element("small", `This page lacks its stacks: flamegrid report PROFILE --planes gpu,${finding.plane} -f html -o FILE`);
	return opener(`Show ${finding.kernel && id >= 0 ? labelsOfId(profile, id)[1] : visibleText(finding.kernel ?? profile.names[id])}`, () => {
		const plane = planes.has(finding.plane) ? finding.plane : [...planes][0];

		choice.only = profile.shownPlanes.length > 1 ? { plane } : {};
		openSandwich(id);
	});
}

function opener(text, open) {
	const button = element("button", text, "link");

	button.type = "button";
	button.addEventListener("click", open);
	return button;
}

// The name of a finding's kernel, or of the outermost frame in "caller > line"; -1: there is none.
function evidenceId({ kernel, line }) {
	if (kernel) {
		const name = profile.leafName.find((id) => profile.names[id].replace(/^\[GPU[^\]]*_Kernel\]/, "") === kernel);

		return name === undefined ? -1 : joinedName(profile, name);
	}
	for (let end = line?.length ?? -1; end > 0; end = line.lastIndexOf(" > ", end - 1)) {
		const id = profile.names.indexOf(line.slice(0, end)); // a name may have " > " in it

		if (id >= 0)
			return id;
	}
	return -1;
}

// The planes that have a frame or a leaf of this name.
function planesOf(id) {
	const { nodes, nodeParent, nodeName } = profile, isBelow = new Uint8Array(nodes), planes = new Set();

	for (let node = 1; node < nodes; node++)
		isBelow[node] = nodeName[node] === id ? 1 : isBelow[nodeParent[node]];
	for (let leaf = 0; leaf < profile.leaves; leaf++)
		if (isBelow[profile.leafNode[leaf]] || joinedName(profile, profile.leafName[leaf]) === id)
			planes.add(profile.rows[profile.leafRow[leaf]].plane);
	return planes;
}
