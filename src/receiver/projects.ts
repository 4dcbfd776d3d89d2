/** Which project a message is of, and the keys that its events and its send stand under. */
import { messageKey, sendKey } from '../messages/order.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { CredentialsSource } from '../verify/credentials.ts'

export interface ProjectKeys {
  /** Rejects a message id without its project where there are several. */
  keyOf(messageId: string, project: string | undefined): string
  /** Of a send to a list, each number has a key. */
  sendKeyOf(reference: string, project: string | undefined, number?: string): string
  /** The project that is meant: where there is one with a name, it need not be given. */
  named(project: string | undefined): string | undefined
  /** Names seen so far, at most 1,000: a lookup without a project tries each of them. */
  all(): readonly string[]
}

const MOST_NAMED = 1_000

export function createProjectKeys(
  { byProject, onlyProject }: Pick<CredentialsSource, 'byProject' | 'onlyProject'>,
  configured: readonly string[],
): ProjectKeys {
  const seen = new Set(configured)

  /** The project that is part of keys. */
  function scopeOf(project: string | undefined): string | undefined {
    if (!byProject) return undefined
    const named = project ?? onlyProject
    if (named === undefined) throw new MessagingWebhooksError('project_required')
    if (seen.size < MOST_NAMED) seen.add(named)
    return named
  }

  return {
    keyOf: (messageId, project) => messageKey(scopeOf(project), messageId),
    sendKeyOf: (reference, project, number) => sendKey(scopeOf(project), reference, number),
    named: (project) => project ?? onlyProject,
    all: () => [...seen],
  }
}
