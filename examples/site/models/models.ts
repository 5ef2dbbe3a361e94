/** Bring your model: a file is opened, its inputs are filled, it runs, and its results and the time of its ops are shown. */
/// <reference lib="dom" />

import { takeFiles } from "./dropped.ts";
import { InputField, layoutOf } from "./models_inputs.ts";
import type { ModelFile, ModelResult, ModelsMessage, ModelsRequest } from "./models_messages.ts";
import { byId, chooseDevice, chosenDevice } from "../page.ts";

const status = byId("status"), runButton = byId<HTMLButtonElement>("run");
const inputs = byId("inputs"), outputs = byId("outputs"), time = byId("time"), ops = byId("ops");

/** Numbers of a result that are shown, and of the largest among many. */
const SHOWN = 12, TOP = 5;

let worker: Worker | null = null;
let fields: InputField[] = [];
/** The files of the model, to load it again on another device; null before the first. */
let files: readonly ModelFile[] | null = null;

function send(message: ModelsRequest): void {
  worker?.postMessage(message);
}

/** Loads a model in a worker of its own: what ran before ends. */
function load(given: readonly ModelFile[]): void {
  files = given;
  worker?.terminate();
  status.textContent = "Loading…";
  runButton.disabled = true;
  fields = [];
  inputs.replaceChildren();
  show([]);
  worker = new Worker(new URL("./models_worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<ModelsMessage>) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message);
  };
  send({ kind: "load", backend: chosenDevice(), files: given });
}

function fail(error: string): void {
  status.textContent = error;
  status.className = "error";
  runButton.disabled = fields.length === 0;
}

function hear(message: ModelsMessage): void {
  status.className = "quiet";
  switch (message.kind) {
    case "loaded":
      status.textContent = `${message.about}, loaded in ${message.ms.toFixed(0)} ms`;
      fields = message.inputs.map((value) => new InputField(value));
      inputs.replaceChildren(...fields.map(({ element }) => element));
      runButton.disabled = false;
      void run();
      break;
    case "ran":
      runButton.disabled = false;
      time.textContent = `in ${message.ms.toFixed(1)} ms`;
      ops.textContent = message.table;
      show(message.results);
      break;
    case "failed":
      fail(message.error);
      break;
    case "seen":
      // Asked for by another page.
  }
}

async function run(): Promise<void> {
  try {
    const feeds = await Promise.all(fields.map(async (f) => [f.name, await f.elements()] as const));
    runButton.disabled = true;
    send({ kind: "run", feeds: Object.fromEntries(feeds) });
  } catch (error) {
    fail((error as Error).message);
  }
}

/** Shows results: pictures as pictures, many numbers by the largest. */
function show(results: readonly ModelResult[]): void {
  outputs.replaceChildren(...results.map((result) => {
    const part = document.createElement("div"), title = document.createElement("p");
    const { name, dtype, shape } = result;
    title.textContent = `${name}: ${dtype} [${shape.join(", ")}]`;
    part.append(title);
    const picture = drawn(result);
    if (picture !== null) part.append(picture);
    const numbers = document.createElement("p");
    numbers.className = "quiet";
    numbers.textContent = textOf(result);
    part.append(numbers);
    return part;
  }));
}

function textOf({ shape, values }: ModelResult): string {
  const list = Array.from(values as ArrayLike<number | string>);
  const short = (v: number | string): string =>
    typeof v === "string" ? JSON.stringify(v) : String(Number(v.toPrecision(5)));
  const rest = list.length > SHOWN ? " …" : "";
  const isRow = shape.filter((d) => d !== 1).length === 1 && list.length > SHOWN;
  if (!isRow || typeof list[0] === "string") {
    return list.slice(0, SHOWN).map(short).join(" ") + rest;
  }
  const top = list.map((v, i) => [v as number, i] as const).sort(([a], [b]) => b - a).slice(0, TOP);
  return `Largest: ${top.map(([v, i]) => `${short(v)} at ${i}`).join(", ")}`;
}

/** A result as a picture, from its least to its largest number; null for what is none. */
function drawn({ shape, values }: ModelResult): HTMLCanvasElement | null {
  const layout = layoutOf(shape.length === 2 ? [...shape, 1] : shape);
  if (layout === null || layout.height < 16 || layout.width < 16) return null;
  const { height, width, channels, isFirst } = layout, numbers = values as Float32Array;
  if (numbers.length < height * width * channels) return null;
  let least = Infinity, most = -Infinity;
  for (const v of numbers) [least, most] = [Math.min(least, v), Math.max(most, v)];
  const canvas = document.createElement("canvas"), image = new ImageData(width, height);
  [canvas.width, canvas.height] = [width, height];
  for (let i = 0; i < height * width; i++) {
    for (let c = 0; c < 4; c++) {
      const from = Math.min(c, channels - 1);
      const v = numbers[isFirst ? from * height * width + i : i * channels + from]!;
      image.data[4 * i + c] = c === 3 ? 255 : 255 * (v - least) / (most - least || 1);
    }
  }
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

/** Takes what was dropped: a picture for an input, or a model. */
async function take(dropped: readonly ModelFile[], picture?: File): Promise<void> {
  if (picture !== undefined && dropped.length === 1 && fields.length > 0) {
    fields[0]!.take(await createImageBitmap(picture));
    await run();
  } else load(dropped);
}

takeFiles(take);
byId("example").onclick = () => load([]);
runButton.onclick = () => void run();
const device = await chooseDevice();
device.onchange = () => {
  if (files !== null) load(files);
};
