/** The exit codes. The reference's table derives from here. */
export const EXIT_CODES = {
  ok: { code: 0, when: 'Success. `verify`: the signature holds.' },
  failed: {
    code: 1,
    when: 'The command failed, for example because a port is in use, a file is unreadable, or a store is unavailable.',
  },
  usage: { code: 2, when: 'Invalid usage; nothing was started.' },
  notProved: { code: 3, when: '`verify`: the signature does not hold.' },
  refused: { code: 4, when: '`trigger`: an answer differs from that of a correct receiver.' },
  unanswered: { code: 5, when: '`trigger`: an expected answer is missing.' },
  notFound: { code: 6, when: '`events`, `dead-letters`: the id does not exist.' },
  unsupported: { code: 7, when: 'This Node.js has no SQLite.' },
  unwell: { code: 8, when: '`doctor`: found a problem or a warning.' },
  interrupted: { code: 130, when: '`trigger`: interrupted by Ctrl+C.' },
} as const satisfies Readonly<Record<string, { readonly code: number; readonly when: string }>>

export type ExitName = keyof typeof EXIT_CODES

/** Ends a command. Message and hint are one line each, without secrets or bodies. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exit: ExitName
  readonly hint: string | undefined

  constructor(exit: ExitName, message: string, hint?: string) {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}
