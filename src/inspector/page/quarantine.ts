/** Refused requests by cause, and whether they can be verified now. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ClearResult, QuarantineList, ReverifyResult } from '../shapes.ts'
import { asNoAnswer, pick, post, queryOf, useAsked, valueOf } from './data.ts'
import { h, type Child, type View } from './ui.ts'
import * as ui from './ui.ts'

type Kept = QuarantineList['items'][number]

const PATH = ['quarantine']

export function QuarantineView(view: View): VNode | VNode[] {
  const query = pick(view.route.query, ['class', 'code', 'project'])
  const { after } = view.route.query
  const asked = useAsked<QuarantineList>(`api/quarantine${queryOf({ ...query, after })}`, view.changes)
  if (view.session.storeAlone) return h`${ui.heading('Quarantine')}${ui.aloneNote()}`
  const isFiltered = Object.keys(query).length > 0
  return h`${ui.heading('Quarantine')}${ui.answered(asked, ({ items, groups, size, counts, next }) => [
    causes(groups, size, isFiltered),
    view.session.may.write && h`<${VerifyForm} view=${view} size=${size} />`,
    items.length > 0 ? requests(items) : nothing(isFiltered),
    ui.pages(
      view,
      query,
      next,
      ['Oldest', 'Newer'],
      ui.quiet(
        `${ui.several(size, 'request')}, ${ui.bytes(counts.bytes)}`,
        counts.dropped > 0 && `; ${ui.count(counts.dropped)} dropped for want of room`,
      ),
    ),
  ])}`
}

/** Verifies all again, first as a dry run, and clears the quarantine. */
function VerifyForm({ view, size }: { readonly view: View; readonly size: number }): VNode | VNode[] {
  const [offset, setOffset] = useState('')
  const [dry, setDry] = useState<ReverifyResult>()
  const [outcome, setOutcome] = useState<Child>()
  const [isBusy, setBusy] = useState(false)
  const admissible = dry?.admitted ?? 0

  async function run(change: () => Promise<Child>): Promise<void> {
    setBusy(true)
    setOutcome(undefined)
    setOutcome(await change().catch((error: unknown) => ui.problemBox(asNoAnswer(error))))
    setBusy(false)
    view.refresh()
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
        'Put the right authKey and signing secret in place first; after a wrong clock, enter its offset.',
    )
  }

  async function clear(): Promise<Child> {
    const { cleared } = await post<ClearResult>('api/quarantine/clear', {})
    return done(true, `${ui.several(cleared, 'request')} cleared.`)
  }

  const confirmAdmit = (): void =>
    view.confirm({
      title: `Admit ${ui.several(admissible, 'callback')}?`,
      text: 'Your handlers get them, in the order of each message. They leave quarantine, and this cannot be undone.',
      yes: 'Admit',
      onYes: () => void run(() => verify(false)),
    })
  const confirmClear = (): void =>
    view.confirm({
      title: `Clear ${ui.several(size, 'request')}?`,
      text: 'All of the quarantine is erased, real callbacks included. This cannot be undone.',
      yes: 'Clear',
      isGrave: true,
      onYes: () => void run(clear),
    })

  function write({ currentTarget }: Event): void {
    setOffset(valueOf(currentTarget))
    setDry(undefined)
    setOutcome(undefined)
  }

  function submit(event: Event): void {
    event.preventDefault()
    void run(() => verify(true))
  }

  return h`${ui.panel(
    'Verify again',
    h`<p>Verifies every request with the current credentials, each by its time of arrival. A dry run changes nothing.</p>
    <form class="tools" onSubmit=${submit}>
      <label for="offset">Clock offset in seconds</label>
      <input id="offset" type="number" step="1" placeholder="0" value=${offset} onInput=${write} />
      <button type="submit" disabled=${isBusy}>Dry run</button>
      ${admissible > 0 && h`<button type="button" class="main" disabled=${isBusy} onClick=${confirmAdmit}>Admit ${ui.count(admissible)}</button>`}
      <button type="button" class="grave end" disabled=${isBusy || size === 0} onClick=${confirmClear}>Clear the quarantine</button>
    </form>`,
    outcome,
  )}`
}

function causes(groups: QuarantineList['groups'], size: number, isFiltered: boolean): Child {
  const isPartial = groups.reduce((sum, { count }) => sum + count, 0) < size
  return ui.problems(
    'By cause',
    groups.map(({ class: name, guess, code, why, project, count, since, last }) => ({
      key: `${name} ${code} ${project ?? ''}`,
      tone: name === 'rest' ? 'calm' : 'bad',
      text: h`<strong>${ui.count(count)}${isPartial && '+'} refused since ${ui.time(since)}: ${guess}</strong>
        ${project !== undefined && ` Project ${project}.`}
        <p><code>${code}</code> ${ui.prose(why)}</p><small>last ${ui.time(last, true)}</small>`,
      remedy: ui.linkButton('Show', PATH, { class: name, code, project }),
    })),
    isFiltered && ui.linkButton('Show all causes', PATH),
  )
}

function nothing(isFiltered: boolean): Child {
  return ui.empty(
    isFiltered ? 'Nothing of this cause is in quarantine.' : 'Nothing is in quarantine.',
    'A request without a valid proof is answered 401 and kept here for a while, so that the right key can still prove it.',
  )
}

function requests(rows: readonly Kept[]): Child {
  return ui.table({
    caption: 'Requests in quarantine, in order of arrival',
    rows,
    keyOf: ({ id }) => id,
    class: 'cards',
    columns: [
      ['Received', 'when', ({ arrivedAt }) => ui.time(arrivedAt, true)],
      ['Kind', 'what', ({ kind, label }) => [kind ?? 'any', ' ', ui.badge(label, 'calm')]],
      ['Project', 'project', ({ project }) => project],
      ['Message', 'message', ({ messageId }) => messageId && ui.idText(messageId, 'message id')],
      ['Cause', 'wide', causeOf],
    ],
  })
}

function causeOf({ code, offsetSeconds, bytes, payload }: Kept): Child {
  return h`<details><summary data-item><code>${code}</code>
      ${offsetSeconds !== undefined && h`<strong> Clock offset: ${offsetSeconds} s.</strong>`}
      <small> ${ui.bytes(bytes)}</small></summary>
      ${payload === undefined ? ui.quiet('Its body is not a JSON object.') : ui.long('Payload', payload)}
    </details>`
}
