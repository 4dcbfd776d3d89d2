/** What was refused for want of a proof: by cause, and whether it can be proved by now. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ClearResult, QuarantineList, ReverifyResult } from '../shapes.ts'
import { asNoAnswer, post, queryOf, useAsked, valueOf } from './data.ts'
import {
  aloneNote,
  long,
  answered,
  badge,
  bytes,
  count,
  duration,
  empty,
  h,
  heading,
  idText,
  linkButton,
  panel,
  problemBox,
  prose,
  quiet,
  several,
  table,
  time,
  type Child,
  type View,
} from './parts.ts'

type Kept = QuarantineList['items'][number]

const STALE_MS = 2_000

export function QuarantineView(view: View): VNode | VNode[] {
  const { class: name, code, project, after } = view.route.query
  const asked = useAsked<QuarantineList>(
    `api/quarantine${queryOf({ class: name, code, project, after })}`,
    () => STALE_MS,
  )
  const [offset, setOffset] = useState('')
  const [dry, setDry] = useState<ReverifyResult>()
  const [outcome, setOutcome] = useState<Child>()
  const [isBusy, setBusy] = useState(false)
  const mayWrite = view.session.may.write
  return h`${heading('Quarantine')}
    ${
      view.session.storeAlone
        ? aloneNote()
        : answered(asked, (list) => [
            groups(list),
            mayWrite ? form(list) : h`<p class="quiet">Read-only: you lack the right to write.</p>`,
            nav(list),
            items(list),
          ])
    }`

  function run(change: () => Promise<Child>): void {
    setBusy(true)
    setOutcome(undefined)
    change()
      .then(setOutcome, (error: unknown) => setOutcome(problemBox(asNoAnswer(error))))
      .finally(() => {
        setBusy(false)
        asked.refresh()
      })
  }

  async function verify(dryRun: boolean): Promise<Child> {
    const clock = offset === '' ? {} : { clockOffsetSeconds: Number(offset) }
    const result = await post<ReverifyResult>('api/quarantine/reverify', { dryRun, ...clock })
    setDry(dryRun ? result : undefined)
    const { examined, admitted, stillUnproved } = result
    const text = dryRun
      ? `${several(examined, 'request')} verified again: ${count(admitted)} would be admitted, ${count(stillUnproved)} would stay.`
      : `${several(examined, 'request')} verified again: ${several(admitted, 'was', 'were')} admitted, ${several(stillUnproved, 'stays', 'stay')}.`
    view.say(text)
    return h`<p class=${`note ${admitted > 0 ? 'good' : 'warn'}`}>${text}
      ${dryRun && admitted === 0 && ' Put the right authKey and signing secret in place first; after a wrong clock, enter the measured offset.'}</p>`
  }

  async function clear(): Promise<Child> {
    const { cleared } = await post<ClearResult>('api/quarantine/clear', {})
    view.say(`${several(cleared, 'request')} cleared.`)
    return h`<p class="note good">${several(cleared, 'request')} cleared.</p>`
  }

  function askToAdmit(number: number): void {
    view.confirm({
      title: `Admit ${several(number, 'callback')}?`,
      text: ['Your handlers get them, in the order of each message. They leave quarantine, and this cannot be undone.'],
      yes: 'Admit',
      isGrave: false,
      onYes: () => run(() => verify(false)),
    })
  }

  function askToClear(number: number): void {
    view.confirm({
      title: `Clear ${several(number, 'request')}?`,
      text: ['All of the quarantine is erased, real callbacks included. This cannot be undone.'],
      yes: 'Clear',
      isGrave: true,
      onYes: () => run(clear),
    })
  }

  function form({ items: listed, counts }: QuarantineList): Child {
    const offsets = new Map<number, number>()
    for (const { offsetSeconds } of listed)
      if (offsetSeconds !== undefined) offsets.set(offsetSeconds, (offsets.get(offsetSeconds) ?? 0) + 1)
    const measured = [...offsets].sort(([, a], [, b]) => b - a).slice(0, 4)
    const total = Object.values(counts).reduce((all, one) => all + one, 0)
    const write = (value: string): void => {
      setOffset(value)
      setDry(undefined)
      setOutcome(undefined)
    }
    function submit(event: Event): void {
      event.preventDefault()
      run(() => verify(true))
    }
    return panel(
      'Verify again',
      h`<p>Verifies every request with the current credentials, each by its time of arrival. A dry run changes nothing.</p>
      <form class="tools" onSubmit=${submit}>
        <label for="offset">Clock offset in seconds</label>
        <input id="offset" type="number" step="1" placeholder="0" value=${offset}
          onInput=${({ currentTarget }: Event) => write(valueOf(currentTarget))} />
        ${measured.map(
          ([
            seconds,
            times,
          ]) => h`<button key=${seconds} type="button" class="quiet" onClick=${() => write(String(seconds))}>
            ${seconds} s (measured ${several(times, 'time')})</button>`,
        )}
        <button type="submit" disabled=${isBusy}>Dry run</button>
        ${
          dry !== undefined &&
          dry.admitted > 0 &&
          h`<button type="button" class="main" disabled=${isBusy} onClick=${() => askToAdmit(dry.admitted)}>Admit ${count(dry.admitted)}</button>`
        }
        <button type="button" class="grave end" disabled=${isBusy || total === 0} onClick=${() => askToClear(total)}>Clear the quarantine</button>
      </form>`,
      outcome,
    )
  }

  function nav({ classes, counts, bytes: size, dropped }: QuarantineList): Child {
    return h`<nav class="choice" aria-label="Class">
      ${linkButton('All', ['quarantine'], {}, name === undefined)}
      ${classes.map(({ name: each, label, what }) =>
        linkButton(
          h`<span title=${what}>${label} <b>${count(counts[each] ?? 0)}</b></span>`,
          ['quarantine'],
          { class: each },
          name === each,
        ),
      )}
      ${quiet(bytes(size), dropped > 0 && `; ${several(dropped, 'request')} dropped for want of room`)}
    </nav>`
  }

  function items({ classes, items: rows, next }: QuarantineList): Child {
    const labels = new Map(classes.map((each) => [each.name, each.label]))
    if (rows.length === 0)
      return empty(
        name === undefined ? 'Nothing is in quarantine.' : 'Nothing of this class is in quarantine.',
        'A request without a valid proof is answered 401 and kept here for a while, so that the right key can still prove it.',
      )
    return [
      table<Kept>({
        caption: 'Requests in quarantine, in order of arrival',
        rows,
        keyOf: ({ id }) => id,
        class: 'cards kept',
        columns: [
          ['Received', 'when', ({ arrivedAt }) => time(arrivedAt, true)],
          ['Kind', 'what', ({ kind, class: each }) => [kind ?? 'any', ' ', badge(labels.get(each), 'calm')]],
          ['Project', 'project', (row) => row.project],
          ['Message', 'message', ({ messageId }) => messageId && idText(messageId, 'message id')],
          ['Cause', 'wide', causeOf],
        ],
      }),
      h`<nav class="pages" aria-label="Pages">${next !== undefined && linkButton('Newer »', ['quarantine'], { class: name, code, project, after: next })}</nav>`,
    ]
  }
}

function groups({ groups: all, counts }: QuarantineList): Child {
  if (all.length === 0) return undefined
  const grouped = all.reduce((sum, each) => sum + each.count, 0)
  const more = grouped < Object.values(counts).reduce((sum, one) => sum + one, 0) ? '+' : ''
  return h`<section class="panel attention" aria-label="By cause"><h2>By cause</h2>
    <ul>${all.map(({ class: name, guess, code, why, project, count: number, since, last }) => {
      return h`<li key=${`${name} ${code} ${project ?? ''}`} class=${name === 'rest' ? 'calm' : 'bad'}>
        <div><strong>${count(number)}${more} refused since ${time(since)}: ${guess}</strong>
          ${project !== undefined && ` Project ${project}.`}
          <p><code>${code}</code> ${prose(why)}</p><small>last ${time(last, true)}</small></div>
        <div class="do">${linkButton('Show', ['quarantine'], { class: name, code, project })}</div>
      </li>`
    })}</ul>
  </section>`
}

function causeOf({ code, offsetSeconds, bytes: size, payload }: Kept): Child {
  const way = (offsetSeconds ?? 0) > 0 ? 'behind' : 'ahead of'
  return h`<details><summary data-item><code>${code}</code>
      ${offsetSeconds !== undefined && h`<strong> Its time is ${duration(Math.abs(offsetSeconds) * 1_000)} ${way} this clock.</strong>`}
      <small> ${bytes(size)}</small></summary>
      ${payload === undefined ? quiet('Its body is no JSON object.') : long('Payload', payload)}
    </details>`
}
