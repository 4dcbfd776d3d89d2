/** A logger that records its lines. */
import type { Logger } from 'messaging-webhooks'

/** A line of the log. */
interface LogLine {
  readonly level: keyof Logger
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string
}

export function logging() {
  const lines: LogLine[] = []
  const at =
    (level: keyof Logger) =>
    (fields: object, text: string): void =>
      void lines.push({ level, fields: { ...fields }, text })
  return {
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    lines,
    /** The lines with this code. */
    of: (code: string): readonly LogLine[] => lines.filter(({ fields }) => fields['code'] === code),
  }
}
