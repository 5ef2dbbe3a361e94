/**
 * Stand-ins for what surrounds examples outside of a browser: a page made of their `index.html`, and packages for charts, files and
 * options that compute nothing.
 */
import { importNpm } from "../../../tools/npm.ts";
import type { Any } from "./types.ts";

/** A canvas' context on which nothing shows. */
class Context2d {
  readonly canvas: Any;
  constructor(canvas: Any) {
    this.canvas = canvas;
  }
  getImageData(_x: number, _y: number, width: number, height: number): object {
    return { width, height, data: new Uint8ClampedArray(4 * width * height) };
  }
}
const DRAWING =
  "arc beginPath clearRect closePath drawImage fill fillRect fillText lineTo moveTo " +
  "putImageData rect restore save scale stroke strokeRect translate";
for (const name of DRAWING.split(" ")) (Context2d.prototype as Any)[name] = () => {};

/** Makes the globals of a page with this HTML. */
export async function makePage(html: string): Promise<void> {
  const { parseHTML } = await importNpm<Any>("linkedom");
  const { document, window } = parseHTML(html);
  window.HTMLCanvasElement.prototype.getContext = function () {
    return new Context2d(this);
  };
  const { prototype } = window.HTMLElement;
  define(window.HTMLInputElement.prototype, "valueAsNumber", (e) => Number(e.value));
  define(prototype, "innerText", (e) => e.textContent, (e, text) => e.textContent = String(text));
  const options = (e: Any) => [...e.querySelectorAll("option")];
  define(
    window.HTMLSelectElement.prototype,
    "value",
    (e) => {
      const chosen = options(e).find((o) => o.hasAttribute("selected")) ?? options(e)[0];
      return e.dataset.value ?? chosen.getAttribute("value") ?? chosen.textContent;
    },
    (e, value) => e.dataset.value = value,
  );
  const { get: classList } = Object.getOwnPropertyDescriptor(
    window.Element.prototype,
    "classList",
  )!;
  define(prototype, "classList", (e) => classList!.call(e), (e, text) => e.className = text);
  const { HTMLElement, HTMLCanvasElement, HTMLImageElement, HTMLVideoElement, Image } = window;
  Object.assign(globalThis, { document, HTMLElement, HTMLCanvasElement, HTMLImageElement });
  Object.assign(globalThis, { HTMLVideoElement, Image });
}

/** Gives elements what this page's have not, or not to be set. */
function define(
  elements: object,
  name: string,
  get: (element: Any) => unknown,
  set: (element: Any, value: Any) => void = () => {},
): void {
  Object.defineProperty(elements, name, {
    get() {
      return get(this);
    },
    set(value) {
      set(this, value);
    },
  });
}

/** Modules that stand for packages, as texts that esbuild takes. All others export nothing. */
export const STAND_INS: Readonly<Record<string, string>> = {
  argparse: `
    class ArgumentParser {
      defaults = {};
      addArgument(name, { defaultValue = null } = {}) {
        this.defaults[String(name).trim().replace(/^--/, "")] = defaultValue;
      }
      parseArgs() { return { ...this.defaults, ...globalThis.exampleArguments }; }
      parseKnownArgs() { return [this.parseArgs(), []]; }
    }
    module.exports = { ArgumentParser };`,
  "@tensorflow/tfjs-vis": `
    const nothing = async () => {};
    module.exports = {
      visor: () => ({ surface: () => ({ drawArea: null }) }),
      show: { history: nothing, fitCallbacks: () => ({}), modelSummary: nothing, layer: nothing },
      render: { linechart: nothing, scatterplot: nothing, barchart: nothing, heatmap: nothing,
        histogram: nothing, confusionMatrix: nothing },
      metrics: { confusionMatrix: async () => [], perClassAccuracy: async () => [] },
    };`,
  "@angular/core": "module.exports = { Component: () => (type) => type };",
  react: `
    const { useEffect, useRef, useState } = globalThis.reactNative;
    module.exports = { useEffect, useRef, useState, createElement: () => null };`,
  "react-native": `module.exports = { Image: globalThis.reactNative };`,
  "@tensorflow/tfjs-react-native": `
    module.exports = { fetch: globalThis.fetch, decodeJpeg: globalThis.reactNative.decodeJpeg };`,
  "zip-array": "module.exports = { zip: (a, b) => a.map((x, i) => [x, b[i]]) };",
  papaparse: `
    module.exports = { async parse(url, { complete }) {
      const [head, ...lines] = (await (await fetch(url)).text()).trim().split("\\n");
      const names = head.split(",");
      const row = (line) => Object.fromEntries(line.split(",").map((v, i) => [names[i], v]));
      complete({ data: lines.map(row) });
    } };`,
};
