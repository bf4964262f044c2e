// Numbers as people read them.

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

function inUnits(value, step, units) {
	let at = 0;

	for (value = Number(value); value >= step && at < units.length - 1; at++)
		value /= step;
	if (at === 0)
		return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[0]}`;
	return `${value.toFixed(value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0)} ${units[at]}`;
}

const timeText = (ns) => inUnits(ns, 1000, ["ns", "µs", "ms", "s"]).replace(/^\d{4,}/, grouped);
const bytesText = (bytes) => inUnits(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const energyText = (mj) => inUnits(mj, 1000, ["mJ", "J", "kJ", "MJ", "GJ"]);
const UNIT_TEXTS = { ns: timeText, B: bytesText, mJ: energyText };
const unitOf = (weight) => profile.unitOf[weight] ?? { time: "ns", bytes: "B" }[weight];
const weightText = (weight, value) => (UNIT_TEXTS[unitOf(weight)] ?? grouped)(value);

// Never says 100 % of less than all, nor 0 % of something. A part may exceed the whole: the work of a step does where
// processes share its GPU.
function percentText(part, whole) {
	if (BigInt(whole) === 0n)
		return "–";
	const percent = 100 * Number(part) / Number(whole);

	if (BigInt(part) === BigInt(whole))
		return "100 %";
	if (percent >= 99.995 && BigInt(part) < BigInt(whole))
		return "> 99.99 %";
	return BigInt(part) > 0n && percent < 0.005 ? "< 0.01 %" : `${percent.toFixed(2)} %`;
}

function hashName(name) {
	let hash = 0x811c9dc5;

	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
	return hash >>> 0;
}
