/** All ops on texts, for graphs from files. */
import "./text_codes.ts";
import "./text_ops.ts";
import "./text_parts.ts";
import "./unicode.ts";
