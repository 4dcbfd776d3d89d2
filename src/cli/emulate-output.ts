/** What `emulate` prints. */
import type { Delivery } from '../emulator/callbacks/outgoing.ts'
import type { EmulatorReport, SendRecord } from '../emulator/journal.ts'
import type { ProjectState } from '../emulator/projects.ts'
import type { Activity } from '../emulator/surface.ts'
import { systemClock } from '../runtime/clock.ts'
import { answerOf } from './answers.ts'
import { createLineTime } from './event-line.ts'
import { aligned, shown, type Terminal } from './terminal.ts'

interface ShownProject extends ProjectState {
  readonly keys: Readonly<Record<'apiKey' | 'authKey' | 'signingSecret', string | undefined>>
}

interface EmulatorPrinter {
  listening(url: string, projects: readonly ShownProject[], channels: Readonly<Record<string, readonly string[]>>): void
  activity(activity: Activity): void
  report(report: EmulatorReport): void
}

export function emulatorPrinter(terminal: Terminal, isJson: boolean): EmulatorPrinter {
  return isJson ? jsonPrinter(terminal) : linePrinter(terminal)
}

function jsonPrinter({ printJson: line }: Terminal): EmulatorPrinter {
  return {
    listening: (url, projects, channels) => line({ type: 'listening', url, projects, channels }),
    activity: (activity) => line(activity),
    report: (report) => line({ type: 'report', report }),
  }
}

function linePrinter({ print, colours }: Terminal): EmulatorPrinter {
  const { bold, dim, green, red, yellow } = colours
  const lineTime = createLineTime(systemClock())

  function sendLine({ method, channel, project, httpStatus, refusal, fault, recipients }: SendRecord): string {
    const words = new Map<string, number>()
    for (const { status } of recipients) words.set(status, (words.get(status) ?? 0) + 1)
    const outcome = refusal ?? [...words].map(([word, count]) => `${count} ${word}`).join(', ')
    const colour = refusal === undefined ? green : red
    const parts = [lineTime(), 'send    ', `${method} ${colour(String(httpStatus))}`, channel, shown(outcome)]
    return [
      ...parts,
      ...recipients.slice(0, 1).map(({ messageId, to }) => shown(`${messageId} to ${to}`)),
      ...(fault === undefined ? [] : [yellow(fault)]),
      dim(shown(project ?? '')),
    ].join('  ')
  }

  function deliveryLine(delivery: Delivery): string {
    const { kind, status, tookMs, error, faults, url, payload } = delivery
    const answer = answerOf(delivery)
    const colour = status === undefined ? yellow : status < 300 ? green : red
    const parts = [
      lineTime(),
      'callback',
      colour(answer === 'none' ? 'no answer' : answer),
      ...(status === undefined ? [] : [`${tookMs} ms`]),
      shown(`${kind} ${subjectOf(payload)}`),
      ...(error === undefined ? [] : [shown(error)]),
      ...(faults.length === 0 ? [] : [yellow(faults.join(', '))]),
      dim(shown(url)),
    ]
    return parts.join('  ')
  }

  return {
    listening(url, projects, channels) {
      print(`The service is at ${bold(`${url}/api/v1/messaging`)}, its control API at ${bold(`${url}/control`)}`)
      for (const { name, keys, callbackUrls } of projects) {
        print(bold(shown(name)))
        const rows = Object.entries({ ...keys, ...prefixed(callbackUrls) }).map(([key, value]) => [
          `  ${key}`,
          shown(value ?? '(as you gave it)'),
        ])
        for (const line of aligned(rows)) print(line)
        if (Object.keys(callbackUrls).length === 0) print('  no callback URLs: --callbacks <url> sets them')
      }
      print(`Channels: ${Object.values(channels).flat().map(shown).join(', ')}`)
      print(dim('Ctrl+C ends it.'))
    },
    activity: (activity) => print(activity.type === 'send' ? sendLine(activity.send) : deliveryLine(activity.delivery)),
    report({ sends, callbacks }) {
      print(bold('In all'))
      const rows = [
        ['  sends', `${sends.requests}${countsOf(sends.answers)}`],
        ['  callbacks', `${callbacks.sent}${countsOf(callbacks.answers)}`],
        ['  refused', `${callbacks.refused}, ${callbacks.rightlyRefused} of them rightly`],
        ['  unanswered', String(callbacks.unanswered)],
        ['  lost', `${callbacks.lost} that a right receiver takes`],
      ]
      for (const line of aligned(rows)) print(line)
    },
  }
}

function countsOf(answers: Readonly<Record<string, number>>): string {
  const counts = Object.entries(answers).map(([status, count]) => `${status}: ${count}`)
  return counts.length === 0 ? '' : ` (${counts.join(', ')})`
}

function prefixed(urls: ProjectState['callbackUrls']): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(urls).map(([kind, url]) => [`${kind} to`, url]))
}

/** The message and its status, or the id and the event of what is about no message. */
function subjectOf(payload: Delivery['payload']): string {
  const { statuses } = payload
  const fields: Readonly<Record<string, unknown>> =
    typeof statuses === 'object' && statuses !== null ? { ...statuses } : payload
  return [fields['messageId'] ?? fields['message_id'] ?? fields['id'], fields['status'] ?? fields['event']]
    .filter((part) => typeof part === 'string')
    .join(' ')
}
