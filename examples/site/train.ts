/** Train and draw: a network learns in a worker, its losses are drawn, and it reads what one draws. */
/// <reference lib="dom" />

import { PRESETS } from "./bodies.ts";
import { LossChart } from "./chart.ts";
import { Editor } from "./editing/editor.ts";
import type { Learnt, TrainMessage, TrainRequest } from "./messages.ts";
import { DrawingPad, paint } from "./pad.ts";
import { byId, chooseDevice, chosenDevice } from "./page.ts";
import { showPicture } from "./pictures/zoom.ts";

const status = byId("status"), state = byId("body-state");
const body = byId<HTMLTextAreaElement>("body"), preset = byId<HTMLSelectElement>("preset");
const pauseButton = byId<HTMLButtonElement>("pause");
const chart = new LossChart(byId<HTMLCanvasElement>("loss"));
const pad = new DrawingPad(byId<HTMLCanvasElement>("pad"), classify);

/** A function that has not returned for so long is ended, with its worker. */
const STUCK_MS = 3000;

let worker: Worker | null = null;
let paused = false;
let where = "";
let watchdog: ReturnType<typeof setTimeout> | undefined;
/** The function that was sent, until it has worked, and the last one that did. */
const functions = { sent: null as string | null, good: PRESETS[0]!.text };
let learnt: Learnt | null = null;
/** True while a worker has begun again after another was ended; the message about that stays. */
let isReplaced = false;

function send(message: TrainRequest): void {
  worker?.postMessage(message);
}

/** Trains a new network with the function that is in the editor. */
function start(): void {
  chart.clear();
  for (const id of ["loss-now", "images", "rate", "accuracy"]) byId(id).textContent = "–";
  status.textContent = "Loading…";
  learnt = null;
  isReplaced = false;
  startWorker(body.value);
}

/** Starts a worker that trains with a function, on from what was learnt. */
function startWorker(text: string): void {
  worker?.terminate();
  clearTimeout(watchdog);
  functions.sent = text;
  worker = new Worker(new URL("./train_worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<TrainMessage>) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    status.textContent = event.message;
  };
  send({ kind: "start", backend: chosenDevice(), body: text, from: learnt });
  setPaused(false);
  classify();
}

/** Ends the worker of a function that does not return; another goes on with the last one that did, or with none. */
function endStuck(): void {
  const { sent, good } = functions, text = sent ?? good;
  const title = PRESETS.find((preset) => preset.text === text)?.title ??
    /^\s*(?:async\s+)?function\s*\*?\s*([\w$]+)/.exec(text)?.[1];
  state.className = "error";
  state.textContent = `${
    title === undefined ? "This function" : `“${title}”`
  } did not return within ${
    STUCK_MS / 1000
  } s and was stopped. Training goes on with the last function that worked`;
  isReplaced = true;
  startWorker(sent === null ? PRESETS[0]!.text : good);
}

function hear(message: TrainMessage): void {
  switch (message.kind) {
    case "calling":
      clearTimeout(watchdog);
      // A busy page may have the answer among its messages: it is read first.
      watchdog = setTimeout(() => watchdog = setTimeout(endStuck), STUCK_MS);
      break;
    case "called":
      clearTimeout(watchdog);
      break;
    case "saved":
      learnt = message.learnt;
      break;
    case "started":
      where = message.backend === "webgpu" ? "WebGPU" : "the CPU";
      status.textContent = `Training on ${where}`;
      showPicture(byId("picture"), message.svg);
      break;
    case "progress":
      progress(message);
      break;
    case "body":
      if (message.error === null) functions.good = functions.sent ?? functions.good;
      functions.sent = null;
      if (isReplaced && message.error === null) break;
      state.textContent = message.error === null
        ? "In use"
        : `${message.error}. Training goes on with the last function that worked`;
      state.className = message.error === null ? "quiet" : "error";
      break;
    case "example":
      pad.show(message.pixels);
      break;
    case "digit":
      // The answer to what was wiped meanwhile.
      if (pad.isEmpty) break;
      digits(message.probabilities);
      paintOn("seen", message.seen);
      break;
    case "paused":
      setPaused(true);
      status.textContent = `Trained on ${where}; it rests`;
      break;
    case "resumed":
      where = message.backend === "webgpu" ? "WebGPU" : "the CPU";
      status.textContent =
        `The GPU was lost. Training on ${where} from image ${message.images.toLocaleString()} on`;
      byId("images").textContent = message.images.toLocaleString();
      break;
    case "lost":
      status.textContent = `Training ended: ${message.error}. It can be started anew`;
  }
}

function progress(message: Extract<TrainMessage, { kind: "progress" }>): void {
  chart.add(message.losses, message.images);
  byId("loss-now").textContent = message.losses.at(-1)?.toFixed(3) ?? "–";
  byId("images").textContent = message.images.toLocaleString();
  byId("rate").textContent = Math.round(message.imagesPerSecond).toLocaleString();
  if (message.accuracy !== null) {
    byId("accuracy").textContent = `${(100 * message.accuracy).toFixed(1)} %`;
    // What it thinks of the drawing has changed as well.
    classify();
  }
  if (message.sample !== null) paintOn("sample", message.sample);
}

function paintOn(id: string, pixels: Uint8Array<ArrayBuffer>): void {
  paint(byId<HTMLCanvasElement>(id).getContext("2d")!, pixels);
}

function classify(): void {
  const pixels = pad.pixels();
  if (pixels !== null) send({ kind: "classify", pixels });
}

function digits(probabilities: readonly number[]): void {
  const best = probabilities.indexOf(Math.max(...probabilities));
  [...byId("digits").children].forEach((row, i) => {
    row.className = i === best ? "best" : "";
    row.querySelector("meter")!.value = probabilities[i] ?? 0;
  });
}

function clear(): void {
  pad.clear();
  for (const row of byId("digits").children) {
    row.className = "";
    row.querySelector("meter")!.value = 0;
  }
}

function setPaused(value: boolean): void {
  paused = value;
  pauseButton.textContent = paused ? "Go on" : "Pause";
  if (where) status.textContent = paused ? "Paused" : `Training on ${where}`;
  send({ kind: "pause", paused });
}

function useBody(): void {
  state.className = "quiet";
  state.textContent = paused ? "In use once training goes on" : "…";
  isReplaced = false;
  functions.sent = body.value;
  send({ kind: "body", body: body.value });
}

const editor = new Editor(body, useBody);
preset.append(...PRESETS.map(({ title }, i) => new Option(title, String(i))));
preset.onchange = () => {
  editor.set(PRESETS[Number(preset.value)]!.text);
  useBody();
};
editor.set(PRESETS[0]!.text);
byId("apply").onclick = useBody;
pauseButton.onclick = () => setPaused(!paused);
byId("restart").onclick = start;
byId("clear").onclick = clear;
byId("example").onclick = () => send({ kind: "example" });
byId("digits").append(...Array.from({ length: 10 }, (_, i) => {
  const row = document.createElement("li"), meter = document.createElement("meter");
  meter.setAttribute("aria-label", String(i));
  row.append(String(i), meter);
  return row;
}));
for (const id of ["sample", "seen"]) paintOn(id, new Uint8Array(28 * 28));
const device = await chooseDevice();
device.onchange = start;
start();
