// Tables that can be sorted, and what they are made of: leaves that the filters leave.

const ROWS_SHOWN = 200;

// The plane that the graph shows; of several at once, GPU work.
const shownPlane = () => choice.only.plane ?? (profile.shownPlanes.includes("gpu") ? "gpu" : profile.shownPlanes[0]);
const planeLabel = (plane) => profile.planes.find(([name]) => name === plane)[1];

// As a table's caption begins with it.
function planeWords(plane) {
	const label = planeLabel(plane);

	return label[0].toUpperCase() + label.slice(1);
}

// Calls visit(leaf, ns) for each leaf of a plane that the filters leave.
function eachLeaf(plane, visit) {
	const { lo, hi } = profile.values.time;
	const wanted = profile.rows.map((row) => row.plane === plane && DIMENSIONS.every((dimension) =>
		dimension === "plane" || !(dimension in choice.only) || String(row[dimension]) === choice.only[dimension]));

	for (let leaf = 0; leaf < profile.leaves; leaf++)
		if (wanted[profile.leafRow[leaf]])
			visit(leaf, lo[leaf] + hi[leaf] * PART);
}

const countOf = (leaf) => profile.values.count.lo[leaf] + profile.values.count.hi[leaf] * PART;
const bytesOf = (leaf) => profile.values.bytes.lo[leaf] + profile.values.bytes.hi[leaf] * PART;
const shareText = (part, whole) => whole > 0 ? percentText(BigInt(Math.round(part)), BigInt(Math.round(whole))) : "–";

// A style that the policy allows: it forbids attributes, not the object model.
function growElement(made, share) {
	made.style.flexGrow = String(Math.max(share, 0.001));
}

// column: { label, value(row), text(row), title(row), fill(row, cell) }; a value that is a number stands at the right.
function makeTable(caption, columns, rows, sorted = 0) {
	const table = element("table"), head = element("tr"), body = element("tbody");
	let by = sorted, down = true, most = ROWS_SHOWN;

	const fill = () => {
		const { value } = columns[by];
		const order = rows.slice().sort((a, b) => {
			const [first, second] = [value(a), value(b)];

			return (typeof first === "number" ? first - second : collator.compare(first, second)) * (down ? -1 : 1);
		});
		const shown = order.slice(0, most).map((row) => tableRow(columns, row));

		if (order.length > most) {
			const more = element("button", `Show all ${grouped(order.length)} rows`), cell = element("td"), row = element("tr");

			more.type = "button";
			more.addEventListener("click", () => {
				most = Infinity;
				fill();
			});
			cell.colSpan = columns.length;
			cell.append(more);
			row.append(cell);
			shown.push(row);
		}
		body.replaceChildren(...shown);
		[...head.children].forEach((cell, i) => cell.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending"));
	};

	head.append(...columns.map((column, i) => {
		const cell = element("th", undefined, isNumeric(column, rows) ? "number" : ""), button = element("button", column.label);

		cell.scope = "col";
		button.type = "button";
		button.title = column.help ?? "";
		button.addEventListener("click", () => {
			down = by === i ? !down : isNumeric(column, rows);
			by = i;
			fill();
		});
		cell.append(button);
		return cell;
	}));
	const header = element("thead");
	header.append(head);
	table.append(element("caption", caption), header, body);
	fill();
	return table;
}

const isNumeric = (column, rows) => rows.length > 0 && typeof column.value(rows[0]) === "number";

function tableRow(columns, row) {
	const made = element("tr");

	made.append(...columns.map((column) => {
		const cell = element("td", column.fill ? undefined : column.text(row), typeof column.value(row) === "number" ? "number" : "text");

		column.fill?.(row, cell);
		if (column.title)
			cell.title = column.title(row);
		return cell;
	}));
	return made;
}

// A cell with a button that opens something.
function linkCell(text, open) {
	return (row, cell) => {
		const button = element("button", undefined, "link");

		button.type = "button";
		button.append(...nameParts(text(row)));
		button.ariaLabel = text(row);
		button.addEventListener("click", () => open(row));
		cell.append(button);
	};
}

const timeColumn = (label, of, help) => ({ label, help, value: of, text: (row) => of(row) < 0 ? "–" : timeText(of(row)),
	title: (row) => of(row) < 0 ? "" : `${grouped(Math.round(of(row)))} ns` });
const countColumn = (label, of, help) => ({ label, help, value: of, text: (row) => of(row) < 0 ? "–" : grouped(of(row)) });
const bytesColumn = (label, of, help) => ({ label, help, value: of, text: (row) => bytesText(of(row)) });
const textColumn = (label, of, help) => ({ label, help, value: of, text: of });

// A share with a bar behind it.
const shareColumn = (label, of, whole) => ({ label, value: of, fill: (row, cell) => {
	const bar = element("i", undefined, "bar");

	bar.style.width = `${Math.min(100, 100 * of(row) / (whole || 1))}%`;
	cell.classList.add("share");
	cell.append(bar, element("span", shareText(of(row), whole)));
} });
