/** All drivers, and why some examples have none. */
import type { Drivers } from "../types.ts";
import { GAMES } from "./games.ts";
import { IMAGES } from "./images.ts";
import { PRETRAINED } from "./pretrained.ts";
import { TABLES } from "./tables.ts";
import { TEXTS } from "./texts.ts";

/** Drivers by the example's directory. */
export const DRIVERS: Drivers = { ...TABLES, ...IMAGES, ...TEXTS, ...GAMES, ...PRETRAINED };

/** Examples that have no driver, and why. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "firebase-object-detection-node": "runs a SavedModel through TensorFlow's native library",
  "gpu-pipeline":
    "draws a camera's pictures by a model from the network, on TensorFlow.js's own WebGL context",
  "tfdf-adult-gbt":
    "runs decision forests in WebAssembly of its own, over a model from the network",
  "tfdf-penguins": "runs decision forests in WebAssembly of its own, over a model from the network",
  "tsne-mnist-canvas": "its package is made of WebGL programs for TensorFlow.js's own backend",
};
