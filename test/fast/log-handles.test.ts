/** Descriptors of log files: bounded, reopened when needed, and never a reason to lose a line. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { LogFiles } from "../../service/emit/log.ts"

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "aep-log-"))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const bytes = (text: string) => Buffer.from(text)

describe("open log files", () => {
  test("are at most as many as allowed, while more files than that are written in turns", () => {
    const logs = new LogFiles(root, 3)
    const sizes = new Map<string, number>()
    for (let round = 0; round < 5; round += 1) {
      for (let n = 0; n < 10; n += 1) {
        const file = `a/${n}.jsonl`
        const appended = logs.append(file, sizes.get(file) ?? 0, bytes(`${round}\n`))
        expect(appended.kind).toBe("written")
        if (appended.kind === "written") sizes.set(file, appended.end)
        expect(logs.openHandles).toBeLessThanOrEqual(3)
      }
    }
    logs.close()
    expect(logs.openHandles).toBe(0)
    for (let n = 0; n < 10; n += 1)
      expect(readFileSync(join(root, `a/${n}.jsonl`), "utf8")).toBe("0\n1\n2\n3\n4\n")
  })

  test("the file used least recently is closed first", () => {
    const logs = new LogFiles(root, 2)
    logs.append("a/1", 0, bytes("x\n"))
    logs.append("a/2", 0, bytes("x\n"))
    logs.append("a/1", 2, bytes("y\n"))
    logs.append("a/3", 0, bytes("x\n"))
    // Behind an open descriptor a file may vanish unseen; behind a closed one its loss is noticed.
    rmSync(join(root, "a/1"))
    rmSync(join(root, "a/2"))
    expect(logs.append("a/1", 4, bytes("z\n"))).toEqual({ kind: "written", start: 4, end: 6 })
    expect(logs.append("a/2", 2, bytes("z\n"))).toEqual({ kind: "misfit" })
    logs.close()
  })

  test("a file that holds more or less than expected is not written to, and not cut", () => {
    const logs = new LogFiles(root)
    logs.append("a/1", 0, bytes("whole\n"))
    logs.close()
    expect(logs.append("a/1", 5, bytes("next\n"))).toEqual({ kind: "misfit" })
    expect(logs.append("a/1", 7, bytes("next\n"))).toEqual({ kind: "misfit" })
    expect(readFileSync(join(root, "a/1"), "utf8")).toBe("whole\n")
    expect(logs.append("a/1", 6, bytes("next\n")).kind).toBe("written")
    logs.close()
  })

  test("closing twice does no harm", () => {
    const logs = new LogFiles(root)
    logs.append("a/1", 0, bytes("x\n"))
    logs.close()
    logs.close()
    expect(logs.openHandles).toBe(0)
  })

  test("a folder that cannot be made is a failure with the system's code", () => {
    writeFileSync(join(root, "a"), "a file where the folder should be")
    const logs = new LogFiles(root)
    expect(logs.append("a/1", 0, bytes("x\n"))).toMatchObject({ kind: "failed", code: "ENOTDIR" })
  })
})
