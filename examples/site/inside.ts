/**
 * The inside of a program or a model: the plans that are made of its graphs. The address behind `#` names a lesson or holds a program; models are
 * dropped on the page.
 */
/// <reference lib="dom" />

import { LESSONS, lessonText } from "./lessons.ts";
import type { ProgramMessage } from "./messages.ts";
import { takeFiles } from "./models/dropped.ts";
import type { ModelRunner, ModelTold } from "./models/model_runner.ts";
import type { ModelFile } from "./models/models_messages.ts";
import { addLine, summaryOf } from "./output.ts";
import { byId, chooseDevice, chosenDevice, ProgramRunner } from "./page.ts";
import { showPictures } from "./pictures/list.ts";
import { packed, unpacked } from "./share.ts";
import { TimelineView } from "./timeline.ts";

const lesson = byId<HTMLSelectElement>("lesson"), plans = byId<HTMLSelectElement>("plans");
const output = byId("output"), picture = byId("picture"), text = byId("text");
const status = byId("status"), stopButton = byId<HTMLButtonElement>("stop");
const fold = byId<HTMLInputElement>("fold"), scopes = byId("scopes");
const shown = { list: plans, picture, text, fold, scopes };

/** The program of the page's own, one that came with a link, and a model. */
const FIRST = "numpy_function", OWN = "own", MODEL = "model";

/** Lessons that run no graph have no plan to show. */
const EAGER = ["tensors", "ops", "shapes", "memory", "gradients", "custom_gradients", "images"];

let code = "";
/** The files of the model that is looked into; null for a program. */
let model: readonly ModelFile[] | null = null;
let modelRunner: ModelRunner | null = null;
const edit = byId<HTMLAnchorElement>("edit");
const timeline = new TimelineView(byId("timeline"));
const runner = new ProgramRunner(tell);

function tell(message: ProgramMessage): void {
  if (message.kind === "log") addLine(output, message);
  else if (message.kind === "done") {
    // Its timers may go on: it can be stopped still.
    show(message, "It runs no graph");
  }
}

function show(
  run: Extract<ProgramMessage, { kind: "done" }> | Extract<ModelTold, { kind: "seen" }>,
  without: string,
): void {
  const end = summaryOf(run);
  status.textContent = run.plans.length > 0 ? end : `${end}. ${without}`;
  showPictures(run.plans, shown);
  timeline.show(run.timeline);
}

function tellOfModel(message: ModelTold): void {
  switch (message.kind) {
    case "loaded":
      status.textContent = `${message.about}, running…`;
      break;
    case "seen":
      show(message, "Its plan is too large to draw");
      break;
    case "failed":
      status.textContent = message.error;
  }
}

async function run(): Promise<void> {
  stop();
  output.replaceChildren();
  showPictures([], shown);
  status.textContent = "running…";
  stopButton.disabled = false;
  if (model === null) return runner.run({ code, backend: chosenDevice() });
  const files = model, { ModelRunner } = await import("./models/model_runner.ts");
  modelRunner ??= new ModelRunner();
  // Unless it was stopped, or another was chosen, meanwhile.
  if (files === model && !stopButton.disabled) {
    modelRunner.run(files, chosenDevice(), tellOfModel);
  }
}

function stop(): void {
  runner.stop();
  modelRunner?.stop();
}

/** Shows the model's plans in the place of a program's. */
function look(files: readonly ModelFile[]): void {
  if (files.length === 0) return;
  model = files;
  lesson.querySelector<HTMLOptionElement>(`[value=${MODEL}]`)!.hidden = false;
  lesson.value = MODEL;
  edit.hidden = true;
  void run();
}

async function open(): Promise<void> {
  const hash = location.hash.slice(1);
  const shared = hash.startsWith("code=") ? await unpacked(hash.slice("code=".length)) : null;
  const own = lesson.querySelector<HTMLOptionElement>(`[value=${OWN}]`)!;
  own.hidden = shared === null;
  if (shared === null) {
    lesson.value = LESSONS.some(({ name }) => name === hash) ? hash : FIRST;
    code = await lessonText(lesson.value);
  } else {
    lesson.value = OWN;
    code = shared;
  }
  edit.href = `./playground.html#code=${await packed(code)}`;
  edit.hidden = false;
  model = null;
  stop();
  if (shared === null || document.referrer.startsWith(`${location.origin}/`)) return run();
  status.textContent = "This program came with a link: read it in the playground, or run it";
}

lesson.append(
  ...LESSONS.filter(({ name }) => !EAGER.includes(name)).map(({ name, title }) =>
    new Option(title, name)
  ),
  new Option("From the playground", OWN),
  new Option("Your model", MODEL),
);
lesson.querySelector<HTMLOptionElement>(`[value=${MODEL}]`)!.hidden = true;
lesson.onchange = () => {
  if (lesson.value === OWN || lesson.value === MODEL) return;
  // The program that is named already is shown again after a model.
  if (location.hash === `#${lesson.value}`) void open();
  else location.hash = lesson.value;
};
addEventListener("hashchange", () => void open());
byId("run").onclick = () => void run();
stopButton.onclick = () => {
  stop();
  stopButton.disabled = true;
  status.textContent = "stopped";
};
const device = await chooseDevice();
device.onchange = () => void run();
takeFiles(look);
await open();
