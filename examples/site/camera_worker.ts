/** Sends each frame of the page through the graph, and looks for faces in it. */

import * as tf from "@weft/weft";
import { EditableBody } from "./editable_body.ts";
import { FaceFinder } from "./faces.ts";
import type { CameraMessage, CameraRequest, WorkerScope } from "./messages.ts";
import { buildPipeline, type Pipeline } from "./pipeline.ts";
import { errorText } from "./shown.ts";

const scope = globalThis as unknown as WorkerScope<CameraRequest, CameraMessage>;

const body = new EditableBody((error) => scope.postMessage({ kind: "body", error }));

/** Milliseconds that the last call of the body took. */
let bodyTime = 0;

/** The parts that are made once, at the first frame. */
interface Parts {
  readonly pipeline: Pipeline;
  readonly session: tf.Session;
  readonly faces: FaceFinder;
}
let parts: Parts | null = null;
let ready: Promise<void> = Promise.resolve();

async function start(
  { backend: wanted, body: text, size }: CameraRequest & { kind: "start" },
): Promise<void> {
  const backend = await tf.setBackend(wanted) ? wanted : "cpu";
  await tf.setBackend(backend);
  await body.use(text);
  const timed = (image: tf.NdArray) => {
    const start = performance.now();
    try {
      return body.call(image);
    } finally {
      bodyTime = performance.now() - start;
    }
  };
  const pipeline = buildPipeline(timed, size);
  const session = new tf.Session({ graph: pipeline.graph });
  parts = { pipeline, session, faces: await FaceFinder.load() };
  scope.postMessage({ kind: "started", backend, svg: pipeline.svg });
}

async function show(
  { pixels, size: [height, width] }: CameraRequest & { kind: "frame" },
): Promise<void> {
  const { pipeline, session, faces } = parts!;
  const frame = new tf.NdArray("uint8", [height, width, 4], pixels);
  const began = performance.now();
  const picture = await session.run(pipeline.picture, {
    feeds: new Map([[pipeline.frame, frame]]),
  }) as tf.NdArray;
  scope.postMessage({
    kind: "picture",
    pixels: Uint8ClampedArray.from(picture.data as Uint8Array),
    frameTime: performance.now() - began,
    bodyTime,
  });
  const drawn = performance.now();
  const found = await faces.find(frame);
  scope.postMessage({ kind: "faces", faces: found, faceTime: performance.now() - drawn });
}

function answer(data: CameraRequest): Promise<void> {
  switch (data.kind) {
    case "start":
      return start(data);
    case "body":
      return body.use(data.body);
    case "frame":
      return show(data);
  }
}

scope.onmessage = ({ data }) => {
  // One after the other: a frame may come while the network or a body is loaded.
  ready = ready.then(() => answer(data)).catch((error) => {
    scope.postMessage({ kind: "lost", error: errorText(error) });
  });
};
