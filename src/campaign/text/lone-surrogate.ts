/** A surrogate without its other half: code and JSON can contain it, UTF-8 cannot. */
export const LONE_SURROGATE = /\p{Surrogate}/u;
/** Why a value with a {@link LONE_SURROGATE} is refused; continues the name of the value. */
export const LONE_SURROGATE_REASON = 'contains half of a surrogate pair, which is not a character';
