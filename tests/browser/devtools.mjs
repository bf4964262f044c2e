// Chromium over its DevTools pipe: JSON messages that end in NUL, written to its descriptor 3 and read from 4.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
	"--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
	"--remote-debugging-pipe"];

export class Browser {
	constructor(program) {
		this.folder = mkdtempSync(join(tmpdir(), "flamegrid-browser-"));
		this.process = spawn(program, [...FLAGS, `--user-data-dir=${this.folder}`, "about:blank"],
			{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
		this.ended = new Promise((resolve) => this.process.once("exit", resolve));
		this.waiting = new Map();
		this.listeners = new Set();
		this.lastId = 0;
		let rest = "";
		this.process.stdio[4].setEncoding("utf8").on("data", (text) => {
			const messages = (rest + text).split("\0");

			rest = messages.pop();
			messages.forEach((message) => this.receive(JSON.parse(message)));
		});
		this.process.once("error", (error) => this.fail(error));
		this.process.once("exit", (status) => this.fail(new Error(`the browser ended with status ${status}`)));
		this.process.stdio[3].on("error", (error) => this.fail(error));
	}

	fail(error) {
		this.failure = error;
		for (const { reject } of this.waiting.values())
			reject(error);
		this.waiting.clear();
	}

	receive(message) {
		const { resolve, reject, method } = this.waiting.get(message.id) ?? {};

		if (message.id === undefined) {
			this.listeners.forEach((listener) => listener(message));
			return;
		}
		this.waiting.delete(message.id);
		if (message.error)
			reject?.(new Error(`${method}: ${message.error.message}`));
		else
			resolve?.(message.result);
	}

	send(method, params = {}, sessionId = undefined) {
		const id = ++this.lastId;

		if (this.failure)
			return Promise.reject(this.failure);
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject, method });
			this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		});
	}

	async close() {
		await this.send("Browser.close").catch(() => this.process.kill("SIGKILL"));
		await this.ended;
		rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
	}

	// A new page at url, after its scripts ran. watch: a script to run before those of the page.
	async open(url, { width = 1280, height = 800, media = [], watch = "" } = {}) {
		const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
		const page = new Page(this, targetId, sessionId);

		await page.send("Page.enable");
		await page.send("Runtime.enable");
		await page.send("Log.enable");
		await page.send("Network.enable");
		await page.send("Page.addScriptToEvaluateOnNewDocument", { source: watch });
		await page.send("Emulation.setEmulatedMedia", { features: media });
		await page.resize(width, height);
		await page.load(() => page.send("Page.navigate", { url }));
		return page;
	}
}

class Page {
	constructor(browser, targetId, sessionId) {
		Object.assign(this, { browser, targetId, sessionId });
		this.complaints = []; // errors, warnings, violations
		this.requests = [];
		this.loaded = () => {};
		this.listener = (message) => message.sessionId === sessionId && this.notice(message);
		browser.listeners.add(this.listener);
	}

	notice({ method, params }) {
		if (method === "Runtime.exceptionThrown")
			this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
		else if (method === "Runtime.consoleAPICalled")
			this.complaints.push(`console.${params.type}: ${params.args.map((arg) => arg.value).join(" ")}`);
		else if (method === "Log.entryAdded")
			this.complaints.push(`${params.entry.source}: ${params.entry.text}`);
		else if (method === "Network.requestWillBeSent")
			this.requests.push(params.request.url);
		else if (method === "Page.loadEventFired")
			this.loaded();
	}

	send(method, params) {
		return this.browser.send(method, params, this.sessionId);
	}

	async load(go) {
		const loaded = new Promise((resolve) => (this.loaded = resolve));

		await go();
		await loaded;
	}

	reload() {
		return this.load(() => this.send("Page.reload"));
	}

	resize(width, height, deviceScaleFactor = 1) {
		return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor, mobile: false });
	}

	// The value of an expression, awaited, in the page.
	async value(expression) {
		const { result, exceptionDetails } = await this.send("Runtime.evaluate",
			{ expression, awaitPromise: true, returnByValue: true });

		if (exceptionDetails)
			throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
		return result.value;
	}

	// Until the expression is true, looked at once a frame.
	until(expression) {
		return this.value(`new Promise((resolve) => {
			const look = () => (${expression}) ? resolve() : requestAnimationFrame(look);
			look();
		})`);
	}

	// times: 2 is a double click.
	async click(x, y, times = 1) {
		await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
		for (let clickCount = 1; clickCount <= times; clickCount++)
			for (const type of ["mousePressed", "mouseReleased"])
				await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount });
	}

	async key(key, { code = key, text = undefined, modifiers = 0 } = {}) {
		const virtual = { Enter: 13, Escape: 27, Backspace: 8, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39,
			ArrowDown: 40 }[key] ?? key.toUpperCase().charCodeAt(0);
		const event = { key, code, modifiers, windowsVirtualKeyCode: virtual };

		await this.send("Input.dispatchKeyEvent", { ...event, type: text ? "keyDown" : "rawKeyDown", text });
		await this.send("Input.dispatchKeyEvent", { ...event, type: "keyUp" });
	}

	type(text) {
		return this.send("Input.insertText", { text });
	}

	async screenshot() {
		return Buffer.from((await this.send("Page.captureScreenshot", { format: "png" })).data, "base64");
	}

	async print() {
		return Buffer.from((await this.send("Page.printToPDF",
			{ preferCSSPageSize: true, printBackground: true })).data, "base64");
	}

	async close() {
		this.browser.listeners.delete(this.listener);
		await this.browser.send("Target.closeTarget", { targetId: this.targetId });
	}
}
