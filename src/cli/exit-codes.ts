/** The exit codes. The reference's table derives from here. */
export const EXIT_CODES = {
  ok: { code: 0, when: 'All went well. `verify`: the signature holds.' },
  failed: { code: 1, when: 'Something could not be done: a port is taken, a file cannot be read, a store is away.' },
  usage: { code: 2, when: 'The command was not understood; nothing was started.' },
  notProved: { code: 3, when: '`verify`: the signature does not hold.' },
  refused: { code: 4, when: '`trigger`: an answer is not the one that a right receiver gives.' },
  unanswered: { code: 5, when: '`trigger`: there was no answer where there should be one.' },
  notFound: { code: 6, when: '`events`, `dead-letters`: there is none of that id.' },
  unsupported: { code: 7, when: 'This Node.js has no SQLite.' },
  unwell: { code: 8, when: '`doctor`: something is a problem, or may become one.' },
  interrupted: { code: 130, when: '`trigger`: Ctrl+C came before the end.' },
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
