// The tab of changes: what a difference has more of and less, by kernel, the greatest change first.

function changeRows() {
	const rows = new Map(), { time, count } = profile.before;

	eachLeaf("gpu", (leaf, ns) => {
		const id = joinedName(profile, profile.leafName[leaf]);
		const row = rows.get(id) ?? { id, before: 0, after: 0, countBefore: 0, countAfter: 0 };

		row.before += time.lo[leaf] + time.hi[leaf] * PART;
		row.after += ns;
		row.countBefore += count.lo[leaf] + count.hi[leaf] * PART;
		row.countAfter += countOf(leaf);
		rows.set(id, row);
	});
	return [...rows.values()];
}

const signedText = (value, text) => value === 0 ? text(0) : `${value < 0 ? "−" : "+"}${text(Math.abs(value))}`;

function relativeText(before, after) {
	if (before === after)
		return "";
	if (before === 0 || after === 0)
		return before === 0 ? "new" : "gone";
	return signedText(100 * (after / before - 1), (percent) => `${percent.toFixed(percent < 10 ? 1 : 0)} %`);
}

const relativeValue = (before, after) => before > 0 ? Math.abs(after / before - 1) : after > 0 ? Infinity : 0;

// A signed column is sorted by size, whatever its sign; its cells are red or blue as in the graph.
const signedColumn = (label, of, most, text) => ({ label, value: (row) => Math.abs(of(row)), fill: (row, cell) => {
	cell.textContent = text(row);
	if (of(row) === 0)
		return;
	cell.classList.add(of(row) > 0 ? "more" : "less");
	cell.style.setProperty("--far", `${15 + 55 * Math.abs(of(row)) / most}%`);
} });

// Times by unit: of a step if the profiles tell how many there were, else of a launch. The time before is already
// scaled to the length of the run after.
function unitColumns() {
	const { unit } = profile, [before, after] = unit ? [unit[0], unit[0]] : ["launch", "launch"];
	const part = (ns, count) => unit ? ns / unit[1] : count > 0 ? ns / count : -1;

	return [timeColumn(`Before, a ${before}`, (row) => part(row.before, row.countBefore)),
		timeColumn(`After, a ${after}`, (row) => part(row.after, row.countAfter))];
}

function makeChanges() {
	const rows = changeRows(), [before, after] = profile.diff;
	const whole = rows.reduce((sum, row) => ({ before: sum.before + row.before, after: sum.after + row.after }), { before: 0, after: 0 });
	const change = ({ before, after }) => after - before, most = rows.reduce((far, row) => Math.max(far, Math.abs(change(row))), 0);
	const table = makeTable("GPU work by kernel, copy and memset, the greatest change first. Click a name for its callers.", [
		{ ...textColumn("Name", ({ id }) => labelsOfId(profile, id)[0]), title: ({ id }) => visibleText(profile.names[id]),
			fill: linkCell(({ id }) => labelsOfId(profile, id)[0], ({ id }) => openSandwich(id)) },
		signedColumn("Change", change, most, (row) => signedText(change(row), timeText)),
		{ label: "Relative", value: (row) => relativeValue(row.before, row.after), text: (row) => relativeText(row.before, row.after) },
		timeColumn("Before", (row) => row.before), timeColumn("After", (row) => row.after), ...unitColumns(),
		{ label: "Count change", help: "change of the number of launches", value: (row) => relativeValue(row.countBefore, row.countAfter),
			text: (row) => relativeText(row.countBefore, row.countAfter) },
	], rows, 1);

	table.classList.add("heat");
	const step = profile.step ? [element("p", visibleText(`${profile.step[0].toUpperCase()}${profile.step.slice(1)}.`), "lead")] : [];
	return [...step, element("p", `${signedText(change(whole), timeText)} (${relativeText(whole.before, whole.after) || "as before"}): ` +
		`${timeText(whole.after)} in ${visibleText(after)}, ${timeText(whole.before)} in ${visibleText(before)}`, "lead"), table];
}
