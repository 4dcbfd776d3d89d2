/** What was refused for want of a proof: by cause, and whether it can be proved by now. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ClearResult, QuarantineList, ReverifyResult } from '../shapes.ts'
import { asNoAnswer, pick, post, queryOf, total, useAsked, valueOf, type Query } from './data.ts'
import { h, type Child, type Question, type View } from './ui.ts'
import * as ui from './ui.ts'

type Kept = QuarantineList['items'][number]

const PATH = ['quarantine']
const STALE_MS = 2_000

export function QuarantineView(view: View): VNode | VNode[] {
  const query = pick(view.route.query, ['class', 'code', 'project'])
  const { after } = view.route.query
  const asked = useAsked<QuarantineList>(`api/quarantine${queryOf({ ...query, after })}`, () => STALE_MS)
  const [offset, setOffset] = useState('')
  const [dry, setDry] = useState<ReverifyResult>()
  const [outcome, setOutcome] = useState<Child>()
  const [isBusy, setBusy] = useState(false)
  if (view.session.storeAlone) return h`${ui.heading('Quarantine')}${ui.aloneNote()}`
  return h`${ui.heading('Quarantine')}${ui.answered(asked, (list) => [
    groups(list),
    view.session.may.write ? form(list) : ui.readOnlyNote(view),
    classes(list, query),
    items(list, query),
    ui.pages(PATH, query, { after, next: list.next }, ['Oldest', 'Newer']),
  ])}`

  function run(change: () => Promise<Child>): void {
    setBusy(true)
    setOutcome(undefined)
    change()
      .then(setOutcome, (error: unknown) => setOutcome(ui.problemBox(asNoAnswer(error))))
      .finally(() => {
        setBusy(false)
        asked.refresh()
      })
  }

  function done(isWell: boolean, text: string, more?: Child): Child {
    view.say(text)
    return h`<p class=${`note ${isWell ? 'good' : 'warn'}`}>${text} ${more}</p>`
  }

  async function verify(dryRun: boolean): Promise<Child> {
    const clock = offset === '' ? {} : { clockOffsetSeconds: Number(offset) }
    const result = await post<ReverifyResult>('api/quarantine/reverify', { dryRun, ...clock })
    setDry(dryRun ? result : undefined)
    const { examined, admitted, stillUnproved } = result
    const counts = dryRun
      ? `${ui.count(admitted)} would be admitted, ${ui.count(stillUnproved)} would stay`
      : `${ui.several(admitted, 'was', 'were')} admitted, ${ui.several(stillUnproved, 'stays', 'stay')}`
    return done(
      admitted > 0,
      `${ui.several(examined, 'request')} verified again: ${counts}.`,
      dryRun &&
        admitted === 0 &&
        'Put the right authKey and signing secret in place first; after a wrong clock, enter the measured offset.',
    )
  }

  async function clear(): Promise<Child> {
    const { cleared } = await post<ClearResult>('api/quarantine/clear', {})
    return done(true, `${ui.several(cleared, 'request')} cleared.`)
  }

  function question(yes: string, what: string, text: string, onYes: Question['onYes']): () => void {
    return () => view.confirm({ title: `${yes} ${what}?`, text, yes, isGrave: yes === 'Clear', onYes })
  }

  function form({ items: listed, counts }: QuarantineList): Child {
    const offsets = new Map<number, number>()
    for (const { offsetSeconds } of listed)
      if (offsetSeconds !== undefined) offsets.set(offsetSeconds, (offsets.get(offsetSeconds) ?? 0) + 1)
    const measured = [...offsets].sort(([, a], [, b]) => b - a).slice(0, 4)
    const admissible = dry?.admitted ?? 0
    const write = (value: string): void => {
      setOffset(value)
      setDry(undefined)
      setOutcome(undefined)
    }
    function submit(event: Event): void {
      event.preventDefault()
      run(() => verify(true))
    }
    const admit = question(
      'Admit',
      ui.several(admissible, 'callback'),
      'Your handlers get them, in the order of each message. They leave quarantine, and this cannot be undone.',
      () => run(() => verify(false)),
    )
    const clearAll = question(
      'Clear',
      ui.several(total(counts), 'request'),
      'All of the quarantine is erased, real callbacks included. This cannot be undone.',
      () => run(clear),
    )
    return ui.panel(
      'Verify again',
      h`<p>Verifies every request with the current credentials, each by its time of arrival. A dry run changes nothing.</p>
      <form class="tools" onSubmit=${submit}>
        <label for="offset">Clock offset in seconds</label>
        <input id="offset" type="number" step="1" placeholder="0" value=${offset}
          onInput=${({ currentTarget }: Event) => write(valueOf(currentTarget))} />
        ${measured.map(
          ([seconds, times]) =>
            h`<button key=${seconds} type="button" class="quiet" onClick=${() => write(String(seconds))}>
              ${seconds} s (measured ${ui.several(times, 'time')})</button>`,
        )}
        <button type="submit" disabled=${isBusy}>Dry run</button>
        ${admissible > 0 && h`<button type="button" class="main" disabled=${isBusy} onClick=${admit}>Admit ${ui.count(admissible)}</button>`}
        <button type="button" class="grave end" disabled=${isBusy || total(counts) === 0} onClick=${clearAll}>Clear the quarantine</button>
      </form>`,
      outcome,
    )
  }
}

function classes({ classes: all, counts, bytes: size, dropped }: QuarantineList, query: Query): Child {
  const link = (label: Child, name?: string): Child =>
    ui.linkButton(label, PATH, { class: name }, name === query['class'])
  return h`<nav class="choice" aria-label="Class">
    ${link('All')}
    ${all.map(({ name, label, what }) => link(h`<span title=${what}>${label} <b>${ui.count(counts[name] ?? 0)}</b></span>`, name))}
    ${ui.quiet(ui.bytes(size), dropped > 0 && `; ${ui.several(dropped, 'request')} dropped for want of room`)}
  </nav>`
}

function items({ classes: all, items: rows }: QuarantineList, query: Query): Child {
  if (rows.length === 0)
    return ui.empty(
      query['class'] === undefined ? 'Nothing is in quarantine.' : 'Nothing of this class is in quarantine.',
      'A request without a valid proof is answered 401 and kept here for a while, so that the right key can still prove it.',
    )
  const labels = new Map(all.map(({ name, label }) => [name, label]))
  return ui.table<Kept>({
    caption: 'Requests in quarantine, in order of arrival',
    rows,
    keyOf: ({ id }) => id,
    class: 'cards kept',
    columns: [
      ['Received', 'when', ({ arrivedAt }) => ui.time(arrivedAt, true)],
      ['Kind', 'what', ({ kind, class: each }) => [kind ?? 'any', ' ', ui.badge(labels.get(each), 'calm')]],
      ['Project', 'project', ({ project }) => project],
      ['Message', 'message', ({ messageId }) => messageId && ui.idText(messageId, 'message id')],
      ['Cause', 'wide', causeOf],
    ],
  })
}

function groups({ groups: all, counts }: QuarantineList): Child {
  const grouped = all.reduce((sum, each) => sum + each.count, 0)
  const more = grouped < total(counts) ? '+' : ''
  return ui.problems(
    'By cause',
    all.map(({ class: name, guess, code, why, project, count: number, since, last }) => ({
      key: `${name} ${code} ${project ?? ''}`,
      tone: name === 'rest' ? 'calm' : 'bad',
      text: h`<strong>${ui.count(number)}${more} refused since ${ui.time(since)}: ${guess}</strong>
        ${project !== undefined && ` Project ${project}.`}
        <p><code>${code}</code> ${ui.prose(why)}</p><small>last ${ui.time(last, true)}</small>`,
      remedy: ui.linkButton('Show', PATH, { class: name, code, project }),
    })),
  )
}

function causeOf({ code, offsetSeconds, bytes: size, payload }: Kept): Child {
  const way = (offsetSeconds ?? 0) > 0 ? 'behind' : 'ahead of'
  return h`<details><summary data-item><code>${code}</code>
      ${offsetSeconds !== undefined && h`<strong> Its time is ${ui.duration(Math.abs(offsetSeconds) * 1_000)} ${way} this clock.</strong>`}
      <small> ${ui.bytes(size)}</small></summary>
      ${payload === undefined ? ui.quiet('Its body is no JSON object.') : ui.long('Payload', payload)}
    </details>`
}
