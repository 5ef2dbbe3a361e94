/** The pictures of a program: a list of them, the chosen one, and its scopes of names as boxes that open and shut. */
/// <reference lib="dom" />

import type { Picture } from "../messages.ts";
import { showPicture } from "./zoom.ts";

/** Nodes beyond which scopes are boxes at first. */
const MANY = 40;

/** Where pictures are shown. */
export interface PicturePlace {
  readonly list: HTMLSelectElement;
  readonly picture: HTMLElement;
  /** Checkbox in a label: shows scopes as boxes. */
  readonly fold: HTMLInputElement;
  /** For buttons that open and shut scopes. */
  readonly scopes: HTMLElement;
  /** For the same as text. */
  readonly text?: HTMLElement;
}

/** True where some nodes share a scope. */
function hasScopes({ drawing: { nodes } }: Picture): boolean {
  const outermost = nodes.filter(({ name }) => name.includes("/"))
    .map(({ name }) => name.split("/")[0]);
  return new Set(outermost).size < outermost.length;
}

/** Fills the list with titles and shows the chosen picture; hides both where there is none. */
export function showPictures(
  pictures: readonly Picture[],
  { list, picture, text, fold, scopes }: PicturePlace,
): void {
  const open = new Set<string>();
  // Of many nodes, scopes that there is room for are open at first.
  let isNew = false;
  list.replaceChildren(...pictures.map(({ title }, i) => new Option(title, String(i))));
  list.hidden = pictures.length === 0;

  const show = async (): Promise<void> => {
    const chosen = pictures[Number(list.value)];
    const has = chosen !== undefined && hasScopes(chosen);
    fold.parentElement!.hidden = !has;
    scopes.hidden = !(has && fold.checked);
    if (text) text.textContent = chosen?.text ?? "";
    if (!has || !fold.checked) return showPicture(picture, chosen?.svg ?? "");
    const { foldedSvg, openOnScreen } = await import("./groups.ts");
    if (isNew) { for (const scope of openOnScreen(chosen.drawing)) open.add(scope); }
    isNew = false;
    showPicture(picture, foldedSvg(chosen.drawing, open));
    scopes.replaceChildren(...buttons());
  };
  const toggle = (scope: string): Promise<void> => {
    if (!open.delete(scope)) open.add(scope);
    else for (const inner of open) if (inner.startsWith(`${scope}/`)) open.delete(inner);
    return show();
  };
  const buttons = (): HTMLElement[] => {
    const shut = [...picture.querySelectorAll<SVGElement>("g.scope")].map((g) => g.dataset.scope!);
    return [...new Set([...open, ...shut])].sort().map((scope) => {
      const button = document.createElement("button");
      button.textContent = scope;
      button.ariaPressed = String(open.has(scope));
      button.onclick = async () => {
        await toggle(scope);
        // The buttons are made anew.
        [...scopes.querySelectorAll("button")].find((b) => b.textContent === scope)?.focus();
      };
      return button;
    });
  };
  const choose = (): void => {
    const chosen = pictures[Number(list.value)];
    fold.checked = (chosen?.drawing.nodes.length ?? 0) > MANY;
    open.clear();
    isNew = fold.checked;
    void show();
  };
  list.onchange = choose;
  fold.onchange = () => {
    open.clear();
    void show();
  };
  // A picture that is dragged holds the pointer, and stays as it is.
  let from: MouseEvent;
  picture.onpointerdown = (event) => from = event;
  picture.onclick = ({ clientX, clientY }) => {
    if (Math.hypot(clientX - from.clientX, clientY - from.clientY) > 4) return;
    const box = document.elementFromPoint(clientX, clientY)?.closest<SVGElement>("g.scope");
    if (box) void toggle(box.dataset.scope!);
  };
  // The largest: what a step builds says more than what prepares it.
  const sizes = pictures.map(({ svg }) => svg.length);
  if (sizes.length > 0) list.value = String(sizes.lastIndexOf(Math.max(...sizes)));
  choose();
}
