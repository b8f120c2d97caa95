/** Reads the text of an answer, bounded: an endless one must not fill the agent's memory. */

/** Most bytes of an answer. */
const MOST_BYTES = 256 * 1024

/** The answer's text; throws above the bound. */
export async function readText(answer: Response): Promise<string> {
  const reader = answer.body?.getReader()
  if (reader === undefined) return ""
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > MOST_BYTES) {
      await reader.cancel()
      throw new RangeError("answer above its bound")
    }
    text += decoder.decode(value, { stream: true })
  }
}
