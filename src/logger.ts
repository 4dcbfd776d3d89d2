import type { Clock } from './clock.ts'
import { letReject } from './promises.ts'

/** What we ask of a logger: pino's shape, an object first and a sentence second. */
export interface Logger {
  /** Nothing is said at this level today. */
  debug(fields: object, message: string): void
  /** What is worth knowing and asks for nothing. */
  info(fields: object, message: string): void
  /** What somebody should look at. */
  warn(fields: object, message: string): void
  /** What costs callbacks, or soon will. */
  error(fields: object, message: string): void
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
const LINES_A_MINUTE = 10

/** The logger of `logger: false`. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * The default: warnings and errors on the console, because a wrong secret that nobody hears of loses every callback.
 * At most ten lines a minute for each code, since anyone can send forged requests; what was left out is counted.
 */
export function consoleLogger(clock: Clock): Logger {
  return limitedLogger(clock, (level, line) => console[level](line))
}

/** The same, to wherever lines are written. */
export function limitedLogger(clock: Clock, writeLine: (level: 'warn' | 'error', line: string) => void): Logger {
  const windows = new Map<string, { startedAt: number; lines: number }>()
  function write(level: 'warn' | 'error', fields: object, message: string): void {
    const code = 'code' in fields && typeof fields.code === 'string' ? fields.code : message
    const now = clock.now()
    let window = windows.get(code)
    let omitted = ''
    if (window === undefined || Math.abs(now - window.startedAt) >= 60_000) {
      if (window !== undefined && window.lines > LINES_A_MINUTE)
        omitted = ` (${window.lines - LINES_A_MINUTE} more like this were not printed)`
      window = { startedAt: now, lines: 0 }
      windows.set(code, window)
    }
    window.lines += 1
    if (window.lines <= LINES_A_MINUTE)
      writeLine(level, printable(`messaging-webhooks${label(fields)}: ${message}${omitted}`))
  }
  return {
    debug() {},
    info() {},
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}

/** The code to look up, and the status that a request was refused with. */
function label(fields: object): string {
  const code = 'code' in fields && typeof fields.code === 'string' ? fields.code : undefined
  const status = 'status' in fields && typeof fields.status === 'number' ? ` refused with ${fields.status},` : ''
  return code === undefined ? '' : `${status} ${code}`
}

/** A terminal obeys what errors quote of strangers' texts. */
function printable(line: string): string {
  return line.replace(/[^\P{Cc}\n\t]/gu, '\uFFFD')
}

/** A logger is the user's code: what it throws must not cost an event. */
export function guardLogger(
  logger: Readonly<Record<keyof Logger, (fields: object, message: string) => unknown>>,
): Logger {
  const guarded = { ...silentLogger }
  for (const level of LEVELS) {
    guarded[level] = (fields, message) => {
      try {
        // Typed as nothing; one that writes to somewhere far away returns a promise all the same.
        letReject(logger[level](fields, message))
      } catch {
        // There is nowhere left to say it.
      }
    }
  }
  return guarded
}
