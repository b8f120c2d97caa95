/**
 * A file of events judged line by line: bytes in, findings out as they are found. Pure but for what it remembers;
 * reading and printing are the caller's (`cli/validate.ts`).
 *
 * Memory: one line at a time, and beside it what the rules across lines need: for each event its id and a hash of its
 * content, a few words for each session, run, request and tool call, and the form of each request that is open. Measured:
 * 400 MB for a million events, 600 MB under strict. Nothing else of what events say is kept.
 *
 * Not judged: what a redaction left behind, what members that no schema knows hold, and whether a command was
 * acknowledged in time.
 */
import { AEP_VERSION } from "../../shared/aep.ts"
import { isObject } from "../../shared/aep-payloads.ts"
import { Asks } from "./asks.ts"
import { attention } from "./attention.ts"
import { judgeLevels, judgeStructure } from "./captured.ts"
import { CODES, type Code, type Finding, severityFor } from "./codes.ts"
import { judgeEnvelope } from "./envelope.ts"
import { type Read, type Rule, readEvent, type Tell } from "./event.ts"
import { answers } from "./form.ts"
import { causes, type Hash, Ids, order } from "./identity.ts"
import { type Line, LineReader } from "./lines.ts"
import { repeatsMember } from "./members.ts"
import { judgePayload, judgeType } from "./payload.ts"
import { acks, runs, sessions, tools } from "./units.ts"

/** How a file is judged, and who is told. */
export interface ValidatorOptions {
  /** Holds the file to our own invariants too, and turns doubts into errors. */
  isStrict?: boolean
  /** Any hash of 32 bits and more; equal texts must get equal numbers. */
  hash: Hash
  /** Called for each finding, in the order of the lines. */
  onFinding: (finding: Finding) => void
  /** The longest line that is judged; `MAX_LINE_BYTES` when absent. */
  maxLineBytes?: number
}

/** What a file holds and how much is wrong with it. */
export interface Counts {
  /** Lines of the file, whatever stands in them. */
  lines: number
  /** Lines that hold a JSON object of this version, valid or not. */
  events: number
  /** Sessions that have events of their own, by source and session. */
  sessions: number
  /** Lines of another major version, which a reader passes over (AEP-0003 §3.1). */
  skipped: number
  errors: number
  warnings: number
}

/** Told once a file, since every line of it would say the same. */
const ONCE: ReadonlySet<Code> = new Set<Code>(["line.crlf", "version.unsupported"])

const LINE_DETAILS: Partial<Record<Code, string>> = {
  "line.bom": "the file starts with a byte order mark; JSON lines have none",
  "line.blank": "the line is blank; every line holds one event",
  "line.crlf": "lines end in CR LF; a line ends in LF alone (told once)",
  "line.utf8": "the line is no UTF-8, so it was not read",
  "line.too-long": "the line is longer than this reader takes, so it was not read",
  "line.unterminated": "the last line has no line feed: its writer may not be done",
  "line.torn": "the last line breaks off: no line feed, and no complete JSON",
  "line.json": "the line is no JSON",
  "line.member": "an object names a member twice; readers differ in which one they take",
}

/** The judge of one file. Use a new one for each. */
export class Validator {
  readonly counts: Counts = { lines: 0, events: 0, sessions: 0, skipped: 0, errors: 0, warnings: 0 }
  private readonly reader: LineReader
  private readonly isStrict: boolean
  private readonly told = new Set<Code>()
  private readonly owners = new Map<string, Map<string, number>>()
  private readonly ids: Ids
  private readonly rules: readonly Rule[]

  constructor(private readonly options: ValidatorOptions) {
    this.isStrict = options.isStrict === true
    this.reader = new LineReader((line) => this.judge(line), options.maxLineBytes)
    this.ids = new Ids(options.hash)
    const asks = new Asks()
    this.rules = [
      order(),
      runs(),
      // The request as it was before this event: the lifecycle, which comes next, may forget its form.
      answers(asks),
      attention(asks),
      sessions(),
      acks(),
      ...(this.isStrict ? [tools(), causes()] : []),
    ]
  }

  /** Takes the next bytes of the file; a chunk may end anywhere. */
  push(chunk: Uint8Array): void {
    this.reader.push(chunk)
  }

  /** Says that the file ends here. */
  end(): Counts {
    this.reader.end()
    if (this.counts.events === 0 && this.counts.skipped > 0) {
      this.tell(1, "version.nothing-judged", `no line is of version ${AEP_VERSION}, so nothing was judged`)
    }
    return this.counts
  }

  private judge(line: Line): void {
    this.counts.lines += 1
    for (const code of line.faults) this.tellLine(line.number, code)
    if (line.text === undefined) return
    const value = parse(line.text)
    if (value === undefined) {
      this.tellLine(line.number, line.isUnterminated ? "line.torn" : "line.json")
      return
    }
    if (line.isUnterminated) this.tellLine(line.number, "line.unterminated")
    if (repeatsMember(line.text, value.json)) this.tellLine(line.number, "line.member")
    this.judgeValue(value.json, line.number)
  }

  private judgeValue(raw: unknown, line: number): void {
    const tell: Tell = (code, detail, field) => this.tell(line, code, detail, field)
    if (!isObject(raw)) {
      this.counts.events += 1
      tell("envelope.object", "the line is JSON and no object")
      return
    }
    if (isOtherMajor(raw.aep)) {
      this.counts.skipped += 1
      tell("version.unsupported", "lines of another major version are passed over (told once)", "aep")
      return
    }
    this.counts.events += 1
    judgeEnvelope(raw, tell)
    const event = readEvent(raw, line, (source, session) => this.ownerOf(source, session))
    if (event !== undefined) this.judgeEvent(event, tell)
  }

  private judgeEvent(event: Read, tell: Tell): void {
    for (const rule of [judgeType, judgePayload, judgeLevels, judgeStructure]) rule(event, tell)
    // Redelivery of the same event is no second terminal (AEP-0002 §2.5): one finding says all.
    if (this.ids.isRepeated(event, tell)) return
    for (const rule of this.rules) rule(event, tell)
  }

  private ownerOf(source: string, session: string): number {
    let known = this.owners.get(source)
    if (known === undefined) {
      known = new Map()
      this.owners.set(source, known)
    }
    const found = known.get(session)
    if (found !== undefined) return found
    this.counts.sessions += 1
    known.set(session, this.counts.sessions)
    return this.counts.sessions
  }

  private tellLine(line: number, code: Code): void {
    this.tell(line, code, LINE_DETAILS[code] ?? "")
  }

  private tell(line: number, code: Code, detail: string, field?: string): void {
    const severity = severityFor(code, this.isStrict)
    if (severity === undefined || (ONCE.has(code) && this.told.has(code))) return
    this.told.add(code)
    this.counts[severity === "error" ? "errors" : "warnings"] += 1
    const { rule } = CODES[code]
    this.options.onFinding({ line, code, severity, rule, ...(field === undefined ? {} : { field }), detail })
  }
}

/** Another major version than ours: `1.0`, `9.9`. A value that is no version at all is a fault of the envelope. */
function isOtherMajor(version: unknown): boolean {
  const major = typeof version === "string" ? /^(\d+)\.\d+/.exec(version)?.[1] : undefined
  return major !== undefined && Number(major) !== Number(AEP_VERSION.split(".")[0])
}

function parse(text: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) }
  } catch {
    // The caller has a code for it; the parser's own words would quote the line.
    return undefined
  }
}
