/** Messages between the pages and their workers. */

import type { Drawing } from "../../src/library/display/placed.ts";
import type { Face } from "./faces.ts";

/** A device by the name that `tf.setBackend` takes. */
export type Backend = "webgpu" | "cpu";

/** Asks the program worker to run a program. */
export interface ProgramRequest {
  /** A module's text. */
  readonly code: string;
  /** Where it shall run. */
  readonly backend: Backend;
}

/** A picture with what it is of. */
export interface Picture {
  /** A line. */
  readonly title: string;
  /** The picture. */
  readonly svg: string;
  /** Its boxes and lines, of which pictures with a box for each scope are drawn. */
  readonly drawing: Drawing;
  /** The same as text. */
  readonly text: string;
}

/** Counts of a run, as `tf.profile` gives them. */
export interface Counts {
  readonly cpuKernels: number;
  readonly dispatches: number;
  readonly readbacks: number;
  readonly hostCalls: number;
}

/** Something that took time. */
export interface ShownSpan {
  readonly name: string;
  /** `run`, `plan`, `pass`, `step`, `op`, `dispatch`, `readback`, `upload` or `script`. */
  readonly category: string;
  readonly track: "gpu" | "host" | "awaited";
  /** Milliseconds since the program began. */
  readonly start: number;
  readonly end: number;
  /** Number of the span that it is a part of; -1 for none. */
  readonly parent: number;
  /** The op of a step. */
  readonly op: string | undefined;
  /** Bytes of its results, or that it moved. */
  readonly bytes: number | undefined;
}

/** The spans of a run. */
export interface Timeline {
  /** In the order in which they ended. */
  readonly spans: readonly ShownSpan[];
  /** True where there were more than are noted. */
  readonly isCut: boolean;
  /** The programs of the GPU, in WGSL; several may share a name. */
  readonly kernels: readonly { readonly name: string; readonly codes: readonly string[] }[];
}

/** Messages from the program worker. */
export type ProgramMessage =
  /** The library is loaded, and the program begins. */
  | { readonly kind: "begun" }
  | {
    readonly kind: "log";
    readonly level: "log" | "warn" | "error";
    readonly text: string;
    /** The line of the program that an error came from, where it is known. */
    readonly line?: number;
  }
  | {
    readonly kind: "done";
    readonly ok: boolean;
    readonly milliseconds: number;
    readonly backend: Backend;
    readonly counts: Counts | null;
    readonly graphs: readonly Picture[];
    readonly plans: readonly Picture[];
    readonly timeline: Timeline;
  };

/** Asks the training worker for something. */
export type TrainRequest =
  | {
    readonly kind: "start";
    readonly backend: Backend;
    readonly body: string;
    /** The variables of an earlier worker; null for new ones. */
    readonly from: Learnt | null;
  }
  | { readonly kind: "body"; readonly body: string }
  | { readonly kind: "pause"; readonly paused: boolean }
  | { readonly kind: "example" }
  | { readonly kind: "classify"; readonly pixels: Uint8Array<ArrayBuffer> };

/** Values of all variables, and how many images they have seen. */
export interface Learnt {
  readonly bytes: Uint8Array;
  readonly images: number;
}

/** Messages from the training worker. */
export type TrainMessage =
  | { readonly kind: "started"; readonly backend: Backend; readonly svg: string }
  | {
    readonly kind: "progress";
    /** Losses of the steps since the last message. */
    readonly losses: readonly number[];
    readonly images: number;
    readonly imagesPerSecond: number;
    /** Share of the test images that are recognised, where it was measured anew. */
    readonly accuracy: number | null;
    /** An image as the body left it: 28 × 28 bytes. */
    readonly sample: Uint8Array<ArrayBuffer> | null;
  }
  /** Null if the last text is in use, else its fault. */
  | { readonly kind: "body"; readonly error: string | null }
  /** The function is called, and has returned or thrown. */
  | { readonly kind: "calling" | "called" }
  | { readonly kind: "saved"; readonly learnt: Learnt }
  | { readonly kind: "paused" }
  /** A GPU was lost, and training goes on from where it was saved. */
  | { readonly kind: "resumed"; readonly backend: Backend; readonly images: number }
  | { readonly kind: "example"; readonly pixels: Uint8Array<ArrayBuffer> }
  | {
    readonly kind: "digit";
    readonly probabilities: readonly number[];
    readonly seen: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "lost"; readonly error: string };

/** Asks the camera worker for something. */
export type CameraRequest =
  | {
    readonly kind: "start";
    readonly backend: Backend;
    readonly body: string;
    /** Height and width of frames. */
    readonly size: readonly [number, number];
  }
  | { readonly kind: "body"; readonly body: string }
  | {
    readonly kind: "frame";
    /** Red, green, blue and opacity of each pixel. */
    readonly pixels: Uint8Array<ArrayBuffer>;
    readonly size: readonly [number, number];
  };

/** Messages from the camera worker. */
export type CameraMessage =
  | { readonly kind: "started"; readonly backend: Backend; readonly svg: string }
  | {
    readonly kind: "picture";
    readonly pixels: Uint8ClampedArray<ArrayBuffer>;
    /** Milliseconds of the graph, and of the body in it. */
    readonly frameTime: number;
    readonly bodyTime: number;
  }
  /** The faces in the picture that was sent last, and the milliseconds of the search. */
  | { readonly kind: "faces"; readonly faces: readonly Face[]; readonly faceTime: number }
  | { readonly kind: "body"; readonly error: string | null }
  | { readonly kind: "lost"; readonly error: string };

/** A system that is timed. */
export type SpeedSystem = "weft" | "tfjs" | "jax";

/** Asks the timing worker to time all rows. */
export interface SpeedRequest {
  readonly backend: Backend;
  /** Which are timed, in the order of the columns. */
  readonly systems: readonly SpeedSystem[];
}

/** Messages from the timing worker. */
export type SpeedMessage =
  | {
    /** A system is loaded, or was not for an error. */
    readonly kind: "system";
    readonly name: SpeedSystem;
    readonly engine: string | null;
    readonly error?: string;
  }
  | {
    readonly kind: "row";
    readonly row: number;
    readonly times: readonly { readonly name: SpeedSystem; readonly milliseconds: number }[];
    /** True where all systems gave the same numbers. */
    readonly agrees: boolean;
  }
  | { readonly kind: "done" }
  | { readonly kind: "lost"; readonly error: string };

/** The little of a worker's global scope that ours use. The types of pages and of workers cannot be had together. */
export interface WorkerScope<Received, Sent> {
  onmessage: ((event: MessageEvent<Received>) => void) | null;
  postMessage(message: Sent): void;
}
