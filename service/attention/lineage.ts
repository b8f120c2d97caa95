/**
 * Where a session stands below the one a person began: the way from the root down to it. Pure; what is known of parents is
 * handed in, and may be less than there is.
 */

/** Deepest way that is followed; a circle, which no agent should make, ends there too. */
const MAX_DEPTH = 16

/** Ids from the root to the session itself; only itself where no parent is known. */
export function lineageOf(session: string, parentOf: (session: string) => string | undefined): string[] {
  const path = [session]
  for (
    let parent = parentOf(session);
    parent !== undefined && path.length < MAX_DEPTH;
    parent = parentOf(parent)
  ) {
    if (path.includes(parent)) break
    path.unshift(parent)
  }
  return path
}
