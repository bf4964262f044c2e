// Reads the profiles of a folder with DataDog's pprof-format:
//	node read_pushes.mjs MODULES FOLDER
// Prints a line of JSON for each: its time, the types of its values, and each sample's path, the outermost frame first.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const [modules, folder] = process.argv.slice(2);
const { Profile } = createRequire(join(modules, "readers.js"))("pprof-format");

for (const file of readdirSync(folder).sort()) {
	const profile = Profile.decode(gunzipSync(readFileSync(join(folder, file))));
	const { strings } = profile.stringTable;
	const text = (index) => strings[Number(index)];
	const functions = new Map(profile.function.map((item) => [String(item.id), item]));
	const locations = new Map(profile.location.map(({ id, line }) => {
		const name = text(functions.get(String(line[0].functionId)).name);

		return [String(id), Number(line[0].line) ? `${name}:${line[0].line}` : name];
	}));

	assert.equal(strings[0], "");
	assert.equal(locations.size, profile.location.length);
	console.log(JSON.stringify({
		time_ns: String(profile.timeNanos),
		period: `${text(profile.periodType.type)}/${text(profile.periodType.unit)}`,
		types: profile.sampleType.map(({ type, unit }) => [text(type), text(unit)]),
		samples: profile.sample.map(({ locationId, value, label }) => {
			assert.equal(label.length, 0);
			return [locationId.map((id) => locations.get(String(id))).reverse(), ...value.map(String)];
		}),
	}));
}
