/** Camera: frames of a camera, or a still picture where there is none, go through a graph in a worker and come back to be shown. */
/// <reference lib="dom" />

import { Editor } from "./editing/editor.ts";
import type { Face } from "./faces.ts";
import { FILTERS } from "./filters.ts";
import type { CameraMessage, CameraRequest } from "./messages.ts";
import { byId, chooseDevice, chosenDevice, svgElement } from "./page.ts";
import { showPicture } from "./pictures/zoom.ts";

const view = byId<HTMLCanvasElement>("view"), video = byId<HTMLVideoElement>("video");
const body = byId<HTMLTextAreaElement>("body"), preset = byId<HTMLSelectElement>("preset");
const status = byId("status"), state = byId("body-state"), faces = byId("faces");
const cameraButton = byId<HTMLButtonElement>("camera");
const stillButton = byId<HTMLButtonElement>("still");
const size = [view.height, view.width] as const;

/** Reads frames. */
const reader = new OffscreenCanvas(view.width, view.height)
  .getContext("2d", { willReadFrequently: true })!;
const still = new Image();

let worker: Worker | null = null;
let stream: MediaStream | null = null;
/** Frames that were shown, and whether one is with the worker now. */
let frames = 0, isBusy = false;
/** True if another picture was requested meanwhile. */
let isWanted = false;
let where = "";

function send(message: CameraRequest): void {
  worker?.postMessage(message);
}

/** Starts a worker on the chosen device. */
function start(): void {
  worker?.terminate();
  frames = 0;
  isBusy = false;
  where = "";
  status.textContent = "Loading…";
  worker = new Worker(new URL("./camera_worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<CameraMessage>) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    status.textContent = event.message;
  };
  send({ kind: "start", backend: chosenDevice(), body: body.value, size });
  sendFrame();
}

/** Draws what is looked at, from the camera as in a mirror, and gives it to the worker. */
function sendFrame(): void {
  isWanted = isBusy;
  if (isBusy) return;
  const { width, height } = view;
  if (stream === null) reader.drawImage(still, 0, 0, width, height);
  else {
    if (video.videoWidth === 0) return;
    const scale = Math.max(width / video.videoWidth, height / video.videoHeight);
    const [w, h] = [video.videoWidth * scale, video.videoHeight * scale];
    reader.setTransform(-1, 0, 0, 1, width, 0);
    reader.drawImage(video, (width - w) / 2, (height - h) / 2, w, h);
    reader.resetTransform();
  }
  isBusy = true;
  const pixels = new Uint8Array(reader.getImageData(0, 0, width, height).data);
  send({ kind: "frame", pixels, size });
}

function hear(message: CameraMessage): void {
  switch (message.kind) {
    case "started":
      where = message.backend === "webgpu" ? "WebGPU" : "the CPU";
      showPicture(byId("picture"), message.svg);
      tellState();
      break;
    case "picture":
      show(message);
      break;
    case "faces":
      isBusy = false;
      showFaces(message);
      if (stream !== null || isWanted) requestAnimationFrame(sendFrame);
      break;
    case "body":
      state.textContent = message.error === null
        ? "In use"
        : `${message.error}. The picture goes on with the last function that worked`;
      state.className = message.error === null ? "quiet" : "error";
      break;
    case "lost":
      isBusy = false;
      status.textContent = `Ended: ${message.error}. Choose a device to start anew`;
  }
}

function milliseconds(time: number): string {
  return time.toFixed(time < 100 ? 1 : 0);
}

function show(message: Extract<CameraMessage, { kind: "picture" }>): void {
  const image = new ImageData(message.pixels, view.width, view.height);
  view.getContext("2d")!.putImageData(image, 0, 0);
  byId("frames").textContent = (++frames).toLocaleString();
  byId("frame-time").textContent = milliseconds(message.frameTime);
  byId("body-time").textContent = milliseconds(message.bodyTime);
}

function showFaces(message: Extract<CameraMessage, { kind: "faces" }>): void {
  faces.replaceChildren(...message.faces.flatMap(marks));
  const sure = message.faces.map((f) => `${Math.round(100 * f.sure)} %`).join(", ");
  byId("found").textContent = message.faces.length === 0
    ? "No face"
    : `${message.faces.length === 1 ? "A face" : `${message.faces.length} faces`}: ${sure} sure`;
  byId("face-time").textContent = milliseconds(message.faceTime);
}

/** A box and its points. */
function marks({ x, y, width, height, points }: Face): SVGElement[] {
  return [
    svgElement("rect", { x, y, width, height, rx: 8 }),
    ...points.map(([cx, cy]) => svgElement("circle", { cx, cy, r: 4 })),
  ];
}

function tellState(): void {
  if (where === "") return;
  status.textContent = `${stream === null ? "A still picture" : "The camera"}, on ${where}`;
}

async function useCamera(): Promise<void> {
  try {
    stream = await navigator.mediaDevices.getUserMedia({
      video: { width: view.width, height: view.height },
    });
  } catch (error) {
    const why = (error as Error).name === "NotAllowedError"
      ? "The camera may not be used"
      : "No camera was found";
    byId("note").textContent = `${why}: the still picture is shown.`;
    return;
  }
  byId("note").textContent = "";
  video.srcObject = stream;
  await video.play();
  setButtons();
  sendFrame();
}

function useStill(): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  setButtons();
  sendFrame();
}

function setButtons(): void {
  cameraButton.disabled = stream !== null;
  stillButton.disabled = stream === null;
  tellState();
}

function useBody(): void {
  state.className = "quiet";
  state.textContent = "…";
  send({ kind: "body", body: body.value });
  sendFrame();
}

const editor = new Editor(body, useBody);
preset.append(...FILTERS.map(({ title }, i) => new Option(title, String(i))));
preset.onchange = () => {
  editor.set(FILTERS[Number(preset.value)]!.text);
  useBody();
};
editor.set(FILTERS[0]!.text);
byId("apply").onclick = useBody;
cameraButton.onclick = () => void useCamera();
stillButton.onclick = useStill;
const device = await chooseDevice();
device.onchange = start;
still.src = "./still.svg";
await still.decode();
start();
