// The page's colours stay apart for all kinds of colour vision: node palette_test.mjs FOLDER_OF_THE_PAGE
// It reads the palette and the classes that the page itself has.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const [folder] = process.argv.slice(2);
const APART = 15; // CIE76 ΔE: below it two colours of small boxes are taken for one
const READABLE = 4.5; // contrast of text, WCAG 2 AA
const css = readFileSync(join(folder, "palette.css"), "utf8");
const { NEIGHBOURS, CLASSES, MODULE_COLORS } = new Function(`${readFileSync(join(folder, "classes.js"), "utf8")}
	${/^const MODULE_COLORS = .*$/m.exec(readFileSync(join(folder, "drawing.js"), "utf8"))[0]}
	return { NEIGHBOURS, CLASSES, MODULE_COLORS };`)();

// Machado, Oliveira and Fernandes 2009, full severity, over linear light.
const VISIONS = {
	normal: [1, 0, 0, 0, 1, 0, 0, 0, 1],
	protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
	deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
	tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

// The variables of a block, with those that name others followed.
function variables(block, outer = {}) {
	const own = { ...outer, ...Object.fromEntries([...block.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value])) };
	const follow = (value) => /^var\(--([\w-]+)\)$/.test(value) ? follow(own[/^var\(--([\w-]+)\)$/.exec(value)[1]]) : value;

	return Object.fromEntries(Object.entries(own).map(([name, value]) => [name, follow(value)]));
}

const [, lightBlock, darkBlock] = /^:root \{([^}]*)\}[^]*?:root:not\(\.printing\) \{([^}]*)\}/m.exec(css);
const lightRaw = Object.fromEntries([...lightBlock.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value]));
const THEMES = { light: variables(lightBlock), dark: variables(darkBlock, lightRaw) };

const linear = (color) => [1, 3, 5].map((at) => {
	const value = parseInt(color.slice(at, at + 2), 16) / 255;

	return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
});
const seen = (rgb, matrix) => [0, 1, 2].map((row) =>
	Math.min(1, Math.max(0, rgb.reduce((sum, value, i) => sum + matrix[3 * row + i] * value, 0))));
const luminance = ([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

function lab([red, green, blue]) {
	const part = (value) => value > (6 / 29) ** 3 ? Math.cbrt(value) : value / (3 * (6 / 29) ** 2) + 4 / 29;
	const x = part((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047);
	const y = part(0.2126729 * red + 0.7151522 * green + 0.072175 * blue);
	const z = part((0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883);

	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function distance(first, second, vision) {
	const [a, b] = [first, second].map((color) => lab(seen(linear(color), VISIONS[vision])));

	return Math.hypot(...a.map((value, i) => value - b[i]));
}

test("the distance of colours is CIE76's", () => {
	assert.ok(Math.abs(distance("#ffffff", "#000000", "normal") - 100) < 0.01);
	assert.ok(Math.abs(distance("#ff0000", "#00ff00", "normal") - 170.6) < 0.2);
	assert.ok(distance("#c00000", "#606000", "deuteranopia") < distance("#c00000", "#606000", "normal") / 2);
});

for (const [theme, colors] of Object.entries(THEMES)) {
	test(`${theme}: every class has a colour, and text on it can be read`, () => {
		for (const word of [...CLASSES, "hit"]) {
			const color = colors[`class-${word}`];

			assert.match(color ?? "none", /^#[0-9a-f]{6}$/, word);
			const [high, low] = [color, colors["frame-ink"]].map((each) => luminance(linear(each)) + 0.05).sort((a, b) => b - a);
			assert.ok(high / low >= READABLE, `${word} ${color}: contrast ${(high / low).toFixed(2)}`);
		}
	});

	for (const vision of Object.keys(VISIONS))
		test(`${theme}, ${vision}: classes that may be neighbours stay apart`, () => {
			const close = [];

			for (const group of [...NEIGHBOURS, MODULE_COLORS])
				group.forEach((word, i) => group.slice(i + 1).forEach((other) => {
					const apart = distance(colors[`class-${word}`], colors[`class-${other}`], vision);

					if (apart < APART)
						close.push(`${word} and ${other}: ${apart.toFixed(1)}`);
				}));
			assert.deepEqual(close, []);
		});
}
