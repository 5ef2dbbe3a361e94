/** The editor in the place of a textarea: CodeMirror with TypeScript, and what the library's reference knows. */
/// <reference lib="dom" />

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { localCompletionSource, typescriptLanguage } from "@codemirror/lang-javascript";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Prec } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completions, documentation } from "./api_help.ts";
import type { CodeView, Problem } from "./editor.ts";

/** Colours of the page's own, which know light and dark. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--quiet)" },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "var(--code-type)" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: "var(--accent)",
  },
]);

/** Names that a list of completions shows at a time. */
const MOST_PROPOSED = 10;

const LOOK = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { font: "inherit", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "0.6rem 0" },
  ".cm-gutters": {
    color: "var(--quiet)",
    backgroundColor: "var(--panel)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--panel)",
    border: "1px solid var(--line)",
    borderRadius: "0.4rem",
    maxWidth: "min(36rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent)",
  },
  // All that it has are in sight: keys bring the others.
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "none", overflow: "hidden" },
  ".cm-completionDetail": { fontStyle: "normal", color: "var(--quiet)" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-help": { padding: "0.4rem 0.6rem", whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  ".cm-help p": { margin: "0.3rem 0 0", fontFamily: "system-ui, sans-serif" },
  ".cm-help a": { color: "var(--accent)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--line)" },
});

/** Puts an editor in the place of a textarea, whose text it changes as one types. */
export function makeCodeView(area: HTMLTextAreaElement, run: () => void): CodeView {
  const host = document.createElement("div"), labels = [...area.labels];
  host.className = `code-view ${area.className}`;
  // In a tree of its own, whose styles a content security policy without inline styles lets be.
  const root = host.attachShadow({ mode: "open" });
  let isOurs = false;
  const hadFocus = document.activeElement === area;
  const view = new EditorView({
    doc: area.value,
    selection: { anchor: area.selectionStart, head: area.selectionEnd },
    parent: root,
    root,
    extensions: [
      Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }])),
      lineNumbers(),
      history(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      typescriptLanguage,
      syntaxHighlighting(COLOURS),
      autocompletion({
        override: [completions, localCompletionSource],
        maxRenderedOptions: MOST_PROPOSED,
      }),
      hoverTooltip(documentation),
      keymap.of([
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...historyKeymap,
        ...completionKeymap,
        indentWithTab,
      ]),
      LOOK,
      EditorView.contentAttributes.of({
        // As it is: said, so that tools know that keys reach what scrolls around it.
        tabindex: "0",
        "aria-label": area.ariaLabel ?? labels.map((label) => label.textContent).join(" "),
      }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (!docChanged || isOurs) return;
        area.value = state.doc.toString();
        area.dispatchEvent(new Event("input"));
      }),
    ],
  });
  for (const label of labels) label.addEventListener("click", () => view.focus());
  area.after(host);
  area.hidden = true;
  if (hadFocus) view.focus();
  return {
    refresh() {
      isOurs = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: area.value } });
      isOurs = false;
    },
    mark(problems: readonly Problem[]) {
      const { doc } = view.state;
      const within = problems.filter(({ line }) => line >= 1 && line <= doc.lines);
      const diagnostics = within.map(({ line, text }) => {
        const { from, to, text: code } = doc.line(line);
        const indent = code.length - code.trimStart().length;
        return { from: Math.min(from + indent, to), to, severity: "error", message: text } as const;
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
  };
}
