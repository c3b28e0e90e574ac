/** The types of the page's scripts, known in all of them: what the server sends, and what the parts of the page share. */

// ---- what the server sends ---------------------------------------------------------------------------------------------

type Interval = { start_s: number; end_s: number };
type Scene = Interval & { id: string; caption?: string | null };
type Labelling = Record<string, string[]>;
/** What makes no sense in a value; `field` is its path, as `evidence.0.end_s`. */
type Finding = { field: string; turn: number; text: string; may_go_on: boolean };

/** A person's version of one turn. */
interface TurnValue {
  /** Null while the person types. */
  decision: "accept" | "edit" | "reject" | "skip" | null;
  question: string;
  references: string[];
  asked_at_s: number | null;
  evidence: Interval[];
  options: string[] | null;
  correct_option: number | null;
  labels: Labelling;
  reasons: string[];
  note: string;
  unsure?: boolean;
  /** Why it may stay although something is doubtful. */
  kept_because?: string;
}

type Check = { gate: string; outcome: string; reason?: string | null };
type Link = { place: string; direction: "to" | "from"; relation: string; other: LinkedTurn };
type LinkedTurn = { unit_id: string; turn_index: number; question: string; asked_at_s?: number | null };
/** Labels that can be given. `least` and `most`: how many; `says`: their meanings; `keys`: the key of each. */
type Vocabulary = {
  labels: string[]; title?: string; closed?: boolean; least?: number; most?: number | null; keys?: string[];
  says?: Record<string, string>;
};

/** The draft of a chain or a dialogue, and everything shown with it. */
interface Content {
  unit: "chain" | "dialogue";
  clips: Scene[];
  /** Scenes of the whole video. */
  scenes: Scene[];
  turns: Partial<TurnValue>[];
  /** By turn; `unit` has those of the whole unit. */
  checks: Record<string, Check[]>;
  links: Link[];
  vocabularies?: Record<string, Vocabulary>;
}

interface Video {
  duration_s: number | null;
  playable: string | null;
  problem: string | null;
  captions?: string | null;
}

/** The answer about a person's work on a unit. */
interface Reply {
  assignment: { id: string; role: string; state: string; round: number; note: string | null };
  unit: { id: string; name: string; task: string; content: any; video: Video | null };
  /** True if the queue asks for labels of turns. */
  labels_asked?: boolean;
  /** Places that can be accepted at once: their drafts passed all checks. */
  in_bulk?: string[];
  /** Those that must be decided. */
  places: string[];
  entries: Record<string, { revision: number; value: any; stale: boolean }>;
  /** For rejecting, in this project. */
  reasons: { name: string; title: string }[];
  findings?: Record<string, Finding[]>;
}

// ---- actions and keys --------------------------------------------------------------------------------------------------

type ActionName = import("./actions.js").ActionName;

interface Action {
  name: ActionName;
  group: string;
  /** Its effect, as text for people. */
  label: string;
  keys: readonly string[];
  /** Its keys as a range, as `1–9`. */
  range?: string;
  /** False if a text field handles its keys itself, as Ctrl+Z. */
  typing?: boolean;
  /** True if it repeats while the key is held. */
  repeats?: boolean;
}

/** What an action does on a page: `button` and `video` are texts of buttons, below the fields and below the video. */
interface Offer {
  act(key: string): void;
  button?: string;
  /** Its button is filled. */
  first?: boolean;
  video?: string;
}
type Offers = Partial<Record<ActionName, Offer>>;

// ---- the editor --------------------------------------------------------------------------------------------------------

type Editor = import("./editor.js").Editor;
type Keys = import("./keys.js").Keys;
type Playback = import("./watch.js").Playback;
type Picking = import("./linkboard.js").Picking;
/** The shown times of a place. */
type Times = { asked_at_s?: number | null; evidence: Interval[] };
/** Which version of two windows stays. */
type Choice = "mine" | "theirs" | "edit";
type FieldEvent = { target: HTMLInputElement & HTMLTextAreaElement; key: string; isComposing: boolean; preventDefault(): void };

/** How the strip shows a place: a CSS class, as `accepted`; a text, as `Accepted`; a sign; and more that its name says. */
type PlaceState = { kind: string; text: string; mark?: string; more?: string[] };

/** A task in the editor. */
interface View {
  /** A place, for people: `turn`. */
  what: string;
  /** As `Turn 2`. */
  nameOf(place: string): string;
  /** The value that people start from; null if there is none. */
  draftOf(place: string): any;
  /** Component with the fields of the open place. */
  Fields(props: { view: any; editor: Editor; place: string; value: any }): any;
  /** What keys and buttons do at the moment; the editor adds the video, undo and so on. */
  offers(): Offers;
  /** Actions of the editor that the task does not have. */
  without?: ActionName[];
  /** The places, in order. By default those that the server names and those that were made. */
  places?: string[];
  /** The heading. By default `Turn 2 of 8`. */
  titleOf?(place: string): string;
  /** By default undecided or the decision. */
  stateOf?(place: string): PlaceState;
  /** What the strip shows of the place. By default its number. */
  shortOf?(place: string): any;
  /** How a place reads that is not open. */
  saidOf?(place: string): { question: any; answer?: any; about?: any };
  /** By default: its `decision` is not null. */
  isDecided?(place: string, value: any): boolean;
  /** Its times on the bar. */
  timesOf?(place: string): Times;
  /** Somebody dragged an edge on the bar. */
  moveEvidence?(place: string, evidence: Interval[]): void;
  /** What is above the places and does not scroll with them, as a board. */
  Top?(props: { view: any; editor: Editor }): any;
  /** Beside the heading. */
  Head?(props: { view: any; editor: Editor; place: string }): any;
  /** In place of the decision bar while `panelOpen`. */
  Panel?(props: { view: any; editor: Editor }): any;
  panelOpen?: boolean;
  /** What is asked before the unit is submitted; `more`: fields. */
  submitting?(): { question?: string; summary?: string; more?: any };
  /** Saves what submitting says. */
  beforeSubmit?(): void;
  /** Another place was chosen. */
  placed?(from: string | null): void;
  /** The server has another revision of a place. */
  saved?(place: string): void;
  /** Shows the other version when a person chooses to edit their own. */
  editOn?(theirs: any): void;
  /** True: the version of the other window stays, without a question. */
  stands?(theirs: any): boolean;
  /** Escape was pressed outside of a field. */
  leave?(): void;
  /** Of the button; "Submit" by default. */
  submitText?: string;
}

// ---- saving ------------------------------------------------------------------------------------------------------------

type SaveState = "saved" | "saving" | "offline" | "signed-out" | "conflict" | "refused" | "closed";
type Refusal = { message: string; field: string | null; findings: Finding[] };

/** The unsaved text of one place. */
interface Slot {
  /** The server's revision when the text was typed. */
  revision: number;
  /** Being sent, or to be sent again with its key. */
  sent: { key: string; revision: number; value: any } | null;
  /** Typed since then. */
  next: { value: any } | null;
  /** The server's version, if it differs. */
  conflict: { revision: number; value: any } | null;
  /** Why the server refused the value. */
  refused: Refusal | null;
}

// ---- tasks -------------------------------------------------------------------------------------------------------------

interface LinkValue {
  decision: "keep" | "delete" | null;
  relations: string[];
  skills: string[];
  /** Of the rewriting catalogue. */
  method: string | null;
  /** The later question in the words of this link; null for its original words. */
  question: string | null;
  references: string[] | null;
  fits: boolean;
  note: string;
  unsure: boolean;
}
type ChainTurn = { question: string; references?: string[]; evidence?: Interval[] };
type Chain = { id: string; clips: Scene[]; turns: ChainTurn[] };
type Rewriting = { relation: string; method: string; skill: string; question: string; references: string[]; problems: string[]; checked?: boolean };
type Method = { name: string; relation: string; case: string | null; ask: string; deeper: string | null; skill: string; ours: boolean };
/** The content of a unit of links; `linkages` are drafted. */
interface Pair {
  before: Chain;
  after: Chain;
  linkages: { place: string; relations: string[] }[];
  rewrites: Record<string, Rewriting[]>;
  vocabularies: Record<string, Vocabulary>;
  methods: Method[];
}

type LabelsValue = { decision: "accept" | "edit" | "skip" | null; labels: Labelling; note: string; unsure: boolean };
/** What a machine proposes. */
type Proposal = { tags: string[]; probabilities: Record<string, number>; margin: number | null; needs_review: boolean; reason: string | null };

type Criterion = { name: string; title: string; lowest: number; highest: number; step: number; levels: Record<string, string>; may_not_apply: boolean };
type Rating = { marks: Record<string, number | null>; note: string; unsure: boolean };
type RatedAnswer = { turn_index: number; question: string; references: string[]; answer: string; asked_at_s: number | null; options: string[] | null };

type TestQuestion = { question: string; options: string[] | null; until_s: number | null };
type TestAnswer = { text: string; choice: number | null; given: boolean; note: string; unsure: boolean };

type Version = { id: string; letter: string; round: number; name: string | null };
/** A settled place; `from`: the fields that are somebody's, by the work. */
type Settlement = { take?: string; write?: any; from?: Record<string, string>; note?: string };
type DisputedPlace = { draft: { value: any }; sides: Record<string, { value: any }>; settled: { value: any } | null; how: string | null };
type Dispute = Reply & { sides: Version[]; disputed: string[]; choices: Labelling; fields: string[]; shown: Record<string, DisputedPlace> };

/** A live dialogue as the server tells it. */
interface LiveDialogue {
  state: "live" | "awaiting" | "approved" | "dropped";
  /** Why it was sent back. */
  note: string | null;
  least_turns: number;
  /** The investigator's have even positions. */
  messages: Message[];
  your_turn: boolean;
  activities: string[];
  /** Only for the correspondent. */
  video?: Video | null;
  film?: { duration_s: number | null };
}
type Message = { position: number; text: string; evidence?: Interval[] };
