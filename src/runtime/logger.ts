import type { Clock } from './clock.ts'
import { letReject } from './values.ts'

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
const WINDOW_MS = 60_000

/** The logger of `logger: false`. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * The default: warnings and errors on the console, because a wrong secret that nobody hears of loses every callback.
 * At most ten lines a minute for each code, since anyone can send forged requests; the rest is counted, and the number logged.
 */
export function consoleLogger(clock: Clock): Logger {
  return limitedLogger(clock, (level, line) => console[level](line))
}

/** How to say now what limited loggers have withheld; those of users are their own affair. */
const flushes = new WeakMap<object, () => void>()

/** Says what this logger has withheld, where it is one of ours: for a receiver that closes. */
export function flushLogger(logger: object): void {
  flushes.get(logger)?.()
}

interface Window {
  readonly level: Level
  lines: number
}

type Level = 'warn' | 'error'

/** The same, to wherever lines are written. */
export function limitedLogger(clock: Clock, writeLine: (level: Level, line: string) => void): Logger {
  /** By code; each ends a minute after its first line. */
  const windows = new Map<string, Window>()

  function end(code: string): void {
    const window = windows.get(code)
    windows.delete(code)
    const withheld = (window?.lines ?? 0) - LINES_A_MINUTE
    if (window !== undefined && withheld > 0)
      writeLine(
        window.level,
        `messaging-webhooks ${printable(code)}: ${withheld} more lines of this code were withheld.`,
      )
  }

  function begin(code: string, level: Level): Window {
    const window = { level, lines: 0 }
    windows.set(code, window)
    clock.setTimer(() => {
      if (windows.get(code) === window) end(code)
    }, WINDOW_MS)
    return window
  }

  function write(level: Level, fields: object, message: string): void {
    const code = 'code' in fields && typeof fields.code === 'string' ? fields.code : message
    const window = windows.get(code) ?? begin(code, level)
    window.lines += 1
    if (window.lines > LINES_A_MINUTE) return
    const note = window.lines === LINES_A_MINUTE ? ' (Further lines of this code are withheld for a minute.)' : ''
    writeLine(level, printable(`messaging-webhooks${label(fields)}: ${message}${note}`))
  }

  const logger: Logger = {
    debug() {},
    info() {},
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
  flushes.set(logger, () => {
    for (const code of windows.keys()) end(code)
  })
  return logger
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
