/**
 * Names under which secrets stand: in assignments, structured values, flags and pairs (AEP-0003 §9.4 a). The words of
 * the rule, the spellings its corpus adds, and endings by which environments name secrets. Pure.
 */

/** What a member of a structured value is called when it is a secret whatever it holds. */
const WHOLE =
  /^(?:password|passwd|secret|api[_-]?key|token|authorization|credentials?|private[_-]?key|access[_-]?key)$/i

/**
 * How a name ends that holds a secret text: the rule's own words match as endings (`DB_PASSWORD`, `refreshToken`), and
 * `max_tokens` does not end in one. A bare `key` is too common a word.
 */
const ENDING =
  /(?:password|passwd|passphrase|secret|token|authorization|credentials?|(?:api|private|access|secret|signing|encryption|auth|account|master|deploy|storage|ssh|service|session)[_-]?key|[_-](?:pass|pwd)|^_auth|amz-signature)$/i

/** Longest ending there is, with room; a longer name is judged by its end. */
const MAX_ENDING = 32

/** Whether a member of this name is redacted whatever it holds, null excepted. */
export const isSecretMember = (name: string): boolean => WHOLE.test(name)

/** Whether text under a name like this is a secret. */
export function isSecretName(name: string): boolean {
  return ENDING.test(name.length > MAX_ENDING ? name.slice(-MAX_ENDING) : name)
}

/** Names whose value is a whole header line, not a word. */
export const isHeaderName = (name: string): boolean => /authorization$/i.test(name)
/** Cookies hold any number of secrets under names of their own. */
export const isCookieName = (name: string): boolean => /cookie$/i.test(name)
