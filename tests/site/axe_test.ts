/** Every page of the site, and the states that it can be in, have nothing that axe finds: on desktops and phones, light and dark. */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";
import { PAGES } from "../../examples/site/pages.ts";
import { packageFolder } from "../../tools/npm.ts";
import { effort, some, Turns } from "../effort.ts";
import { folder, home, runProgram, test, textOf, write } from "./served.ts";

/** Each page has its turn on one of them as a rule. */
const SCREENS = [
  ["a desktop, light", { viewport: { width: 1280, height: 800 }, colorScheme: "light" }],
  ["a desktop, dark", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" }],
  ["a phone, dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
  ["a phone, light", { viewport: { width: 390, height: 844 }, colorScheme: "light" }],
] as const;

/** The little of axe that this uses. */
interface Axe {
  run(): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[];
    }[];
    readonly passes: readonly unknown[];
  }>;
}

let axeText = "";

/** Asks axe about a page as it stands. */
async function assertNothingFound(page: Page, state: string): Promise<void> {
  axeText ||= await Deno.readTextFile(new URL("axe.min.js", await packageFolder("axe-core")));
  await page.evaluate(axeText);
  const [violations, passes] = await page.evaluate(async () => {
    const { violations, passes } = await (globalThis as unknown as { axe: Axe }).axe.run();
    const places = violations.map(({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`)}`
    );
    return [places, passes.length] as const;
  });
  assert(passes > 10, `${state}: axe looked at ${passes} rules`);
  assertEquals(violations, [], state);
}

const body = async (page: Page, text: string, state: RegExp): Promise<void> => {
  await write(page, text, "body");
  await page.click("#apply");
  await textOf(page, "body-state", state);
};

/** Opens everything that opens. */
const unfold = (page: Page): Promise<void> =>
  page.evaluate(() => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });

const endless = (page: Page) => runProgram(page, 'console.log("begun"); while (true);');
const throwing = (page: Page) => runProgram(page, "console.warn('soon');\nthrow Error('no');");

/** States of pages, each after the one before it. Those that only show text have but one. */
const STATES: Readonly<Record<string, Readonly<Record<string, (page: Page) => Promise<unknown>>>>> =
  {
    index: {
      "at first": (page) => textOf(page, "output", /20/),
      "as it ran": async (page) => {
        await page.focus("#code");
        await textOf(page, "status", / ms on /);
      },
      "running": async (page) => {
        await endless(page);
        await textOf(page, "output", /begun/);
      },
      "stopped": (page) => textOf(page, "status", /^stopped/),
      "failed": async (page) => {
        await throwing(page);
        await textOf(page, "status", /^failed/);
      },
      "without a plan": async (page) => {
        await write(page, "console.log(1);");
        await textOf(page, "status", / ms on /);
      },
    },
    playground: {
      "a lesson": async (page) => {
        await textOf(page, "status", / ms on /);
        await page.evaluate(() => location.hash = "numpy_function");
        await page.waitForSelector("#picture svg");
        await unfold(page);
      },
      "the editor, with a list of names": async (page) => {
        await page.hover("#code");
        await page.focus(".cm-content");
        await page.keyboard.type("tf.");
        await page.waitForSelector(".cm-tooltip-autocomplete li");
      },
      "the editor, with help about a name": async (page) => {
        await page.keyboard.press("Escape");
        await write(page, 'import * as tf from "@weft/weft";\ntf.ones([2]).square();');
        await page.locator(".cm-line span", { hasText: "square" }).last().hover();
        await page.waitForSelector(".cm-help");
      },
      "the editor, with an error underlined": async (page) => {
        await page.mouse.move(0, 0);
        await runProgram(page, "const x = 1;\nx.no.more;");
        await page.waitForSelector(".cm-lintRange-error");
      },
      "running": async (page) => {
        await endless(page);
        await textOf(page, "output", /begun/);
      },
      "stopped": (page) => page.click("#stop"),
      "failed": async (page) => {
        await throwing(page);
        await textOf(page, "status", /^failed/);
      },
      "a link": async (page) => {
        await page.click("#share");
        await page.waitForFunction(() => location.hash.startsWith("#code="));
      },
    },
    train: {
      "training": (page) => textOf(page, "accuracy", /%/),
      "opened, with a digit": async (page) => {
        await unfold(page);
        await page.click("#example");
        await page.waitForFunction(() => document.querySelector("#digits .best") !== null);
      },
      "a body that throws": (page) =>
        body(page, "() => { throw new RangeError('no'); }", /^RangeError/),
      "paused": (page) => page.click("#pause"),
    },
    camera: {
      "a face": (page) => textOf(page, "found", /sure/),
      "opened": unfold,
      "a body that throws": (page) =>
        body(page, "() => { throw new RangeError('no'); }", /^RangeError/),
    },
    models: {
      "no model": (page) => textOf(page, "status", /^No model yet$/),
      "an example": async (page) => {
        await page.click("#example");
        await textOf(page, "time", /ms$/);
        await unfold(page);
      },
      "a file that is none": async (page) => {
        const buffer = Buffer.from("no model");
        await page.setInputFiles("#files", [{ name: "a.onnx", mimeType: "text/plain", buffer }]);
        await page.waitForSelector("#status.error");
      },
    },
    inside: {
      "a plan": (page) => textOf(page, "status", / ms on /),
      "opened, with a step chosen": async (page) => {
        await unfold(page);
        await page.click("#timeline tbody button");
      },
      "scopes": async (page) => {
        await page.evaluate(() => location.hash = "training");
        await page.waitForFunction(() =>
          (document.getElementById("lesson") as HTMLSelectElement).value === "training"
        );
        await textOf(page, "status", / ms on /);
        if (await page.isVisible("#fold")) await page.check("#fold");
      },
      "a model that is none": async (page) => {
        const buffer = Buffer.from("no model");
        await page.setInputFiles("#files", [{ name: "a.onnx", mimeType: "text/plain", buffer }]);
        await textOf(page, "status", /^\w*Error/);
      },
      "another program, running": (page) => page.selectOption("#lesson", { index: 1 }),
    },
    speed: {
      "before": (page) => textOf(page, "machine", /threads$/),
      "timing": async (page) => {
        await page.click("#run");
        await textOf(page, "status", /^1 of 6$/);
      },
      "stopped": (page) => page.click("#stop"),
    },
    ops: {
      "filtered": async (page) => {
        await page.fill("#filter", "softmax");
        await textOf(page, "found", /^\d\d? of/);
      },
      "nothing left": (page) => page.fill("#filter", "no such op"),
    },
    reference: {
      "all": (page) => textOf(page, "found", /./),
      "found": async (page) => {
        await page.fill("#search", "softmax");
        await textOf(page, "found", /^\d+ found/);
      },
      "nothing found": (page) => page.fill("#search", "no such name"),
    },
    guides: { "all": (page) => page.waitForSelector("h1") },
  };

const turns = new Turns();

for (const { name } of some(PAGES, 5)) {
  for (const [screen, options] of turns.of(SCREENS)) {
    test(`axe finds nothing on the page ${name} on ${screen}`, async (page) => {
      await page.goto(`${home}/${name}.html?device=cpu`);
      for (const [state, enter] of Object.entries(STATES[name]!)) {
        await enter(page);
        await assertNothingFound(page, `${name}: ${state}`);
      }
    }, options);
  }
}

/** Parts of the guides and the reference, a test each: all of them in one take longer than a run may. */
const PARTS = effort(1, 8);

for (const [screen, options] of turns.of(SCREENS)) {
  for (let part = 0; part < PARTS; part++) {
    const where = `part ${part + 1} of ${PARTS} of guides and reference`;
    test(`axe finds nothing in ${where} on ${screen}`, async (page) => {
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
        .filter((name) => /^(api|entry|guide)_.*\.html$/.test(name)).sort();
      assert(names.length > 80, `${names.length} pages`);
      const mine = names.filter((_, i) => i % PARTS === part);
      for (const name of some(mine, 4)) {
        await page.goto(`${home}/${name}`);
        await assertNothingFound(page, name);
      }
    }, options);
  }
}
