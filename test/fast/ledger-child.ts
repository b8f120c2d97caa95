/**
 * A service of its own process for the ledger tests: opens the home it is given, says how that went, then obeys
 * words on its input. Started by `ledger-process.test.ts`; `ulimit -f` in the shell around it makes its disk small.
 */
import { type OpenedLedger, openLedger } from "../../service/emit/open.ts"
import { A, fold, type Ids, makeEvent, marksOf } from "./ledger-home.ts"

const home = process.argv[2] ?? ""

const opened: OpenedLedger<Ids> = openLedger<Ids>({
  home,
  boot: "boot-1",
  now: Date.now,
  timers: {
    set: (run, afterMs) => setInterval(run, afterMs),
    clear: (handle) => clearInterval(Number(handle)),
  },
  folding: {
    initial: () => ({ ids: [], open: false }),
    fold,
    marksOf,
    isState: (value): value is Ids => typeof value === "object" && value !== null && "ids" in value,
  },
  isOpen: (state) => state.open,
})

process.stdout.write(`${opened.kind}\n`)
if (opened.kind !== "opened") process.exit(0)
const { ledger } = opened

/** Emits events of half a KiB until the log takes no more, then ten more that go out live only. */
function fill(): string {
  const live: string[] = []
  for (let missed = 0; missed < 10; ) {
    const entry = ledger.session(A, { fresh: true })
    const position = ledger.position(entry)
    const event = { ...makeEvent(A, `c${live.length}`, "x.t.e", position), data: { text: "x".repeat(512) } }
    fold(entry.state, event)
    if (ledger.append(entry, [JSON.stringify(event)]).kind === "failed") missed += 1
    live.push(`${position.epoch},${position.seq}`)
  }
  const saved = ledger.flush()
  return JSON.stringify({ live: live.slice(-10), health: ledger.health(), saved })
}

for await (const word of console) {
  if (word === "fill") process.stdout.write(`${fill()}\n`)
  if (word === "close") {
    ledger.close()
    process.exit(0)
  }
}
