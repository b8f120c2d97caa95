/**
 * Redaction takes linear time on any text: whoever writes the text (a model, a web page, a tool) must not be able to
 * stop the service with it. Every rule meets the beginnings it could try again and again, at doubling lengths.
 */
import { expect, test } from "bun:test"
import { createRedactor } from "../../service/capture/redact.ts"
import { TOKEN_SHAPES } from "../../service/map/tokens.ts"

const { text: redact } = createRedactor({ home: "/home/dev", secretValues: ["aaaa", "abab-"], pii: true })

/** Repeated, each would make some pattern with two ways to match the same characters try all of them. */
const UNITS = [
  ...["-----BEGIN A-----", "-----BEGIN ", '-----BEGIN A-----x"', "-----END ", "-----BEGIN A-----\n-----END "],
  ...["eyJ", "-eyJ", "eyJ.", "eyJa.b", "eyJ-.", "eyJ.a.", "bearer ", "bearer  ", "Bearer a", "bearer\n"],
  ...["://", "://a:b", "://a@", "-u ", "-u a:", "-u a", '-u "a:'],
  ...[
    "password",
    "password=",
    'password="',
    "password='\"",
    'password=\\"',
    'password=\\\\\\"',
    "password = ",
  ],
  ...[
    '"password":{',
    '"password":["',
    '"password":"{',
    "token ",
    "token:\n",
    "token: |\n",
    "= ",
    '" = ',
    '" =',
  ],
  ...[
    "=",
    ":",
    " ",
    "\\",
    '"',
    '\\"',
    '"\\',
    "[",
    '{"a":',
    "cookie:",
    "authorization: basic ",
    'secret="a"\'',
  ],
  ...["--token ", '--token "', "--token '\"", "--a", "-", "--a-", "-a-"],
  ...[
    "/a",
    "/home/",
    "//",
    "/home/a:",
    "/a:",
    "https://a/home/",
    "/home",
    "a/home/b ",
    "/home/dev",
    "/home/deva",
  ],
  ...["C:\\Users\\", "C:\\Users\\a b ", "C:\\Users\\a a", "C:/Users/a a a a", "c:"],
  ...["a@", "@a", "a.", "@a.", "a@a.1", "a@a.a", "é@", "@"],
  ...["1 ", "1(", "1", "+1", "(1", "1-1.", "1   ", "1    ", "+(1", "11111111111111111111a", "1.1.1.1.1.1.1a"],
  ...["aaaa", "aaa", "abab", "a", "\u00e9", "\u2028"],
  ...["\\n", "\\nbearer a", "[1m", "[1;", "[1;1mbearer a", "\\\\\\n", "token=\\n", "token=|\\n", "[32msk-"],
  ...TOKEN_SHAPES.flatMap(({ hint }) => [hint, `${hint}a`, `-${hint}`, `${hint}aaaaaaaaaaaaaaaa.`]),
  ...TOKEN_SHAPES.map(({ hint }) => `${hint}${"A1".repeat(8)} `),
]

const KIB = 1024
/** A square would take 64 times as long for the second as for the first; a line takes eight, and noise less than four times that. */
const LENGTHS = [24 * KIB, 192 * KIB] as const
const MAX_RATIO = 40
/** Below this the clock, not the rule, is measured. */
const FLOOR_MS = 0.25
/** A measurement that the machine disturbed is taken again; a square stays one. */
const ATTEMPTS = 4

function medianMs(text: string): number {
  const runs = [0, 1, 2].map(() => {
    const start = performance.now()
    redact(text)
    return performance.now() - start
  })
  return runs.sort((a, b) => a - b)[1] ?? 0
}

function measure(unit: string): number {
  const [first, last] = LENGTHS.map((length) => medianMs(unit.repeat(Math.ceil(length / unit.length))))
  return (last ?? 0) / Math.max(FLOOR_MS, first ?? 0)
}

test(`${UNITS.length} hostile beginnings, repeated: eight times the text takes eight times the work, not sixty-four`, () => {
  const slow: string[] = []
  let worst = 0
  for (const unit of UNITS) {
    let ratio = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < ATTEMPTS && ratio > MAX_RATIO; attempt += 1) ratio = measure(unit)
    worst = Math.max(worst, ratio)
    if (ratio > MAX_RATIO) slow.push(`${JSON.stringify(unit)}: ${ratio.toFixed(1)}`)
  }
  process.stdout.write(
    `hostile beginnings: ${UNITS.length}, worst ratio of work for 8 times the text: ${worst.toFixed(1)}\n`,
  )
  expect(slow).toEqual([])
}, 120_000)

test("the measure tells a square from a line", () => {
  const square = /(?:\ba|x)[ab.]*y/g
  const work = (length: number) => {
    const text = "a.".repeat(length / 2)
    const start = performance.now()
    text.replace(square, "")
    return performance.now() - start
  }
  work(2 * KIB)
  expect(work(32 * KIB) / Math.max(FLOOR_MS, work(4 * KIB))).toBeGreaterThan(MAX_RATIO)
})
