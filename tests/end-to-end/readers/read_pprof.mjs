// Reads a file of pprof's with DataDog's pprof-format, and checks it as Go's pprof does (profile.CheckValid):
//	node read_pprof.mjs MODULES FILE
// Prints JSON: the sums of each sample type, the default one, labels, functions with their files, build ids, comments.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const [modules, file] = process.argv.slice(2);
const { Profile } = createRequire(join(modules, "readers.js"))("pprof-format");
const profile = Profile.decode(gunzipSync(readFileSync(file)));
const { strings } = profile.stringTable;
const text = (index) => {
	assert.ok(Number(index) < strings.length, `string ${index}`);
	return strings[Number(index)];
};
const byId = (items) => {
	const found = new Map(items.map((item) => [String(item.id), item]));

	assert.equal(found.size, items.length, "ids are unique");
	assert.ok(!found.has("0"), "0 is no id");
	return found;
};
const mappings = byId(profile.mapping), locations = byId(profile.location), functions = byId(profile.function);
const labels = {}, sums = profile.sampleType.map(() => 0n), paths = {};

assert.equal(strings[0], "");
for (const { id, mappingId, line } of profile.location) {
	assert.ok(Number(mappingId) === 0 || mappings.has(String(mappingId)), `mapping of location ${id}`);
	assert.ok(line.length > 0 && line.every(({ functionId }) => functions.has(String(functionId))), `location ${id}`);
}
for (const { value, locationId, label } of profile.sample) {
	assert.equal(value.length, sums.length);
	assert.ok(locationId.length > 0 && locationId.every((id) => locations.has(String(id))));
	value.forEach((one, i) => (sums[i] += BigInt(one)));
	for (const { key, str } of label)
		(labels[text(key)] ??= new Set()).add(text(str));
	const path = locationId.map((id) => text(functions.get(String(locations.get(String(id)).line[0].functionId)).name));
	const name = path.reverse().join(";");
	paths[name] = String(BigInt(paths[name] ?? 0) + BigInt(value[0]));
}
console.log(JSON.stringify({
	sums: Object.fromEntries(profile.sampleType.map(({ type, unit }, i) => [`${text(type)}/${text(unit)}`, String(sums[i])])),
	default: text(profile.defaultSampleType),
	labels: Object.fromEntries(Object.entries(labels).map(([key, values]) => [key, [...values].sort()])),
	files: [...new Set(profile.function.map(({ filename }) => text(filename)).filter(Boolean))].sort(),
	lines: profile.location.filter(({ line }) => Number(line[0].line) > 0).length,
	build_ids: profile.mapping.map(({ buildId }) => text(buildId)).sort(),
	comments: profile.comment.map(text),
	duration_ns: String(profile.durationNanos),
	time_ns: String(profile.timeNanos),
	paths,
}));
