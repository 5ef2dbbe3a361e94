/** `tf.test_util`: comparisons for tests. */
import { encodeString } from "../../engine/core/text.ts";
import type { RecursiveArray } from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** Tolerance where floats have 16 bits. */
export const TEST_EPSILON_FLOAT16 = 1e-1;
const TEST_EPSILON_FLOAT32 = 1e-3;

/** Returns the tolerance. */
export function testEpsilon(): number {
  return TEST_EPSILON_FLOAT32;
}

/** Callback of an asynchronous test. */
export interface DoneFn {
  /** It passed. */
  (): void;
  /** It failed. */
  fail: (message?: Error | string) => void;
}

type Agrees = (actual: unknown, expected: unknown) => boolean;

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}

function shapeOf(value: unknown): number[] {
  return Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [];
}

/** Flattens nested values; bytes in a list are one value, a text. */
function flat(value: unknown, isInner = false): unknown[] {
  if (isInner && value instanceof Uint8Array) return [value];
  return isList(value) ? Array.from(value).flatMap((inner) => flat(inner, true)) : [value];
}

function compare(actual: unknown, expected: unknown, agrees: Agrees): void {
  const kinds = [actual, expected].map((value) => ArrayBuffer.isView(value) && value.constructor);
  if (kinds[0] && kinds[1] && kinds[0] !== kinds[1]) {
    throw new Error(`Arrays differ in type: ${kinds[0].name}, wanted ${kinds[1].name}`);
  }
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const [a, e] = [shapeOf(actual).join(), shapeOf(expected).join()];
    if (a !== e) throw new Error(`Arrays differ in shape: [${a}], wanted [${e}]`);
  }
  const a = flat(actual), e = flat(expected);
  if (a.length !== e.length) {
    throw new Error(`Arrays differ in length: ${a.length}, wanted ${e.length}`);
  }
  const at = a.findIndex((value, i) => !agrees(value, e[i]));
  if (at >= 0) {
    throw new Error(`Arrays differ at ${at}: ${a[at]}, wanted ${e[at]}. All are ${a}, wanted ${e}`);
  }
  passed();
}

/** Counts an expectation, without which test runners warn. */
function passed(): void {
  const { expect } = globalThis as { expect?: () => { nothing?: () => void } };
  if (expect !== undefined) expect().nothing?.();
}

function areClose(a: number, e: number, epsilon: number): boolean {
  if (!Number.isFinite(a) && !Number.isFinite(e)) return true;
  return !(Number.isNaN(a) || Number.isNaN(e) || Math.abs(a - e) > epsilon);
}

/**
 * Throws where numbers are further apart than `epsilon`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.test_util.expectArraysClose([1, 2], [1.0001, 2]);
 * console.log("close"); // close
 * ```
 */
export function expectArraysClose(
  actual: unknown,
  expected: unknown,
  epsilon: number = testEpsilon(),
): void {
  compare(actual, expected, (a, e) => areClose(Number(a), Number(e), epsilon ?? testEpsilon()));
}

/**
 * Throws where elements differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.test_util.expectArraysEqual([1, 2], [1, 2]);
 * console.log("equal"); // equal
 * ```
 */
export function expectArraysEqual(actual: unknown, expected: unknown): void {
  const wanted = isList(expected) ? expected : [expected];
  const isText = (value: unknown) => typeof value === "string" || value instanceof Uint8Array;
  compare(
    actual,
    wanted,
    (a, e) => isText(a) || isText(e) ? String(a) === String(e) : areClose(Number(a), Number(e), 0),
  );
}

/**
 * Throws where two numbers are further apart than `epsilon`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.test_util.expectNumbersClose(1, 1.0001);
 * console.log("close"); // close
 * ```
 */
export function expectNumbersClose(a: number, e: number, epsilon: number = testEpsilon()): void {
  if (!areClose(a, e, epsilon)) throw new Error(`Numbers differ: ${a}, wanted ${e}`);
  passed();
}

/**
 * Throws where a number lies outside a range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.test_util.expectValuesInRange([1, 2], 0, 2);
 * console.log("within"); // within
 * ```
 */
export function expectValuesInRange(actual: ArrayLike<number>, low: number, high: number): void {
  for (let i = 0; i < actual.length; i++) {
    if (actual[i] < low || actual[i] > high) {
      throw new Error(`Value out of range: ${actual[i]}, wanted ${low} to ${high}`);
    }
  }
}

/** Throws where bytes differ. */
export function expectArrayBuffersEqual(actual: ArrayBuffer, expected: ArrayBuffer): void {
  compare(new Uint8Array(actual), new Uint8Array(expected), (a, e) => a === e);
}

/** Calls `done` with a success where the promise is rejected. */
export function expectPromiseToFail(fn: () => Promise<unknown>, done: DoneFn): void {
  fn().then(() => done.fail(), () => done());
  passed();
}

/** Replaces texts by their bytes. */
export function encodeStrings(a: RecursiveArray<unknown>): RecursiveArray<Uint8Array> {
  const list = a as unknown[];
  list.forEach((value, i) => {
    if (Array.isArray(value)) encodeStrings(value);
    else list[i] = encodeString(value as string);
  });
  return list as unknown as RecursiveArray<Uint8Array>;
}

/** The used part of a video element. */
interface Video {
  playsInline: boolean;
  muted: boolean;
  loop: boolean;
  style: { position: string; left: string; top: string };
  preload: string;
  appendChild(source: object): void;
  addEventListener(name: string, listener: () => void): void;
  load(): void;
  play(): Promise<void>;
  requestVideoFrameCallback?(callback: () => void): void;
}

/** Makes a video element that may play without a gesture of the user. */
export function createVideoElement(source: object): Promise<object> {
  const page = globalThis as unknown as { document: { createElement(name: string): Video } };
  const video = page.document.createElement("video");
  Object.assign(video, { playsInline: true, muted: true, loop: true, preload: "auto" });
  Object.assign(video.style, { position: "fixed", left: "0px", top: "0px" });
  video.appendChild(source);
  return new Promise((resolve) => {
    video.addEventListener("loadeddata", () => resolve(video));
    video.load();
  });
}

/** Plays a video until its first frame is there. */
export async function play(video: object): Promise<void> {
  const v = video as Video;
  await v.play();
  if (v.requestVideoFrameCallback) {
    await new Promise<void>((resolve) => v.requestVideoFrameCallback!(resolve));
  }
}
